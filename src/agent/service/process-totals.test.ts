import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { type TestContext, test } from 'node:test';
import { frozen } from '../../../test/frozen.ts';
import { processTable } from '../../sources/process/table.ts';
import { processEndTable } from '../../sources/records/tables.ts';
import type { Scope } from '../../sources/scope.ts';
import type { SourceKind } from '../../sources/source.ts';
import { Frame } from '../../table/frame.ts';
import type { Table } from '../../table/table.ts';
import { type EarlierTotals, earlierTotals } from './earlier-totals.ts';
import { ProcessTotals } from './process-totals.ts';

const MEGABYTE = 2 ** 20;
const SECOND = 1_000_000;
/** The machine was started at this second. */
const BOOT = 1_700_000_000;

interface Row {
  keys: [pid: string, start: number];
  numbers?: Record<string, number>;
  texts?: Record<string, string>;
  /** Seconds after boot. */
  time?: number;
}

/** What an agent would read at its ticks. */
function machine(t: TestContext, before?: EarlierTotals | 'unknown') {
  const { host } = frozen(t, { '/proc/stat': `btime ${BOOT}\n`, '/proc/uptime': '' });
  const totals = new ProcessTotals(host, before);
  const at = (seconds: number): number => (BOOT + seconds) * SECOND;
  const reading = (table: Table) => {
    let rows: Row[] = [];
    const kind: SourceKind = {
      table,
      open: () => ({
        table,
        read(frame) {
          for (const { keys, numbers = {}, texts = {}, time } of rows) {
            const row = frame.row();
            frame.texts[row * frame.textWidth] = keys[0];
            frame.texts[row * frame.textWidth + 1] = String(keys[1]);
            for (const [name, value] of [...Object.entries(numbers), ...Object.entries(texts)]) {
              const columnPlace = frame.indexes[table.columns.findIndex((column) => column.name === name)]!;
              if (typeof value === 'number') frame.numbers[row * frame.numberWidth + columnPlace] = value;
              else frame.texts[row * frame.textWidth - 1 - columnPlace] = value;
            }
            if (time !== undefined) frame.times![row] = at(time);
          }
        },
        close() {},
      }),
    };
    const source = totals.watch(kind).open(host, {} as Scope);
    return (second: number, given: Row[]): void => {
      rows = given;
      const frame = new Frame(table);
      frame.clear(at(second));
      source.read(frame);
    };
  };
  const [sampled, recorded] = [reading(processTable), reading(processEndTable)];
  return {
    /** All of a tick: a parent, and its children. */
    family: (second: number, rows: [pid: string, ppid: number, ms: number, children: number, state: string][]) =>
      sampled(
        second,
        rows.map(([pid, ppid, user_ms, children_user_ms, state]) => ({
          keys: [pid, (BOOT + Number(pid)) * 1000] as [string, number],
          numbers: { ppid, user_ms, system_ms: 0, children_user_ms, children_system_ms: 0, rss_peak_bytes: 0 },
          texts: { state },
        })),
      ),
    sample: (second: number, pid: string, start: number, ms: number, peak: number, state = 'R') =>
      sampled(second, [
        {
          keys: [pid, (BOOT + start) * 1000],
          numbers: { user_ms: ms, system_ms: 0, rss_peak_bytes: peak * MEGABYTE },
          texts: { state },
        },
      ]),
    record: (
      second: number,
      pid: string,
      start: number,
      end: number,
      us: number,
      peak: number,
      more: { ended?: string; born?: number } = {},
    ) =>
      recorded(second, [
        {
          keys: [pid, at(start)],
          numbers: {
            usertime: us,
            systemtime: 0,
            rssmax: peak * 1024,
            starttime: Math.floor((more.born ?? start) * 100),
          },
          texts: { ended: more.ended ?? 'exit' },
          time: end,
        },
      ]),
    now: (second: number): [us: number, megabytes: number] => {
      const { cpu_us, peak_bytes } = totals.now(at(second), true);
      return [cpu_us, peak_bytes / MEGABYTE];
    },
    inCgroup: (second: number): [us: number, together: number, reported: number] => {
      const { cpu_us, peak_bytes, told_peak_bytes } = totals.now(at(second), false);
      return [cpu_us, peak_bytes / MEGABYTE, told_peak_bytes / MEGABYTE];
    },
  };
}

test('processes are added up by samples and by their own records, each once', (t) => {
  const { sample, record, now } = machine(t);
  sample(10, '7', 9.5, 400, 30);
  assert.deepEqual(now(10), [400_000, 30]);
  // it ends; another lived between the two ticks, in its company
  record(11, '8', 10.2, 10.4, 150_000, 5);
  record(11, '7', 9.5, 10.9, 912_345, 31);
  sample(11, '7', 9.5, 910, 31, 'X');
  assert.deepEqual(now(11), [912_345 + 150_000, 36]);
  // they come one after the other: their peaks do not add up
  record(12, '9', 11.1, 11.4, 10, 20);
  record(12, '10', 11.5, 11.9, 10, 20);
  assert.deepEqual(now(12), [912_345 + 150_020, 36]);
});

test('in a cgroup: CPU time, and the largest process of which no sample had shown as much', (t) => {
  const { sample, record, inCgroup } = machine(t);
  sample(10, '7', 9.5, 400, 30);
  assert.deepEqual(inCgroup(10), [400_000, 0, 0]);
  record(11, '8', 10.2, 10.4, 150_000, 5);
  record(11, '7', 9.5, 10.9, 912_345, 31);
  assert.deepEqual(inCgroup(11), [912_345 + 150_000, 0, 5]);
  record(12, '9', 11.1, 11.4, 10, 20);
  record(12, '10', 11.5, 11.9, 10, 12);
  assert.deepEqual(inCgroup(12), [912_345 + 150_020, 0, 20]);
  assert.deepEqual(inCgroup(13), [912_345 + 150_020, 0, 0]);
});

test('a process that followed another at once did not live with it, though the kernel has its start in hundredths', (t) => {
  const { sample, record, now } = machine(t);
  record(10, '7', 9, 9.505, 1000, 20);
  sample(10, '8', 9.5, 100, 30);
  assert.deepEqual(now(10), [101_000, 30]);
  record(11, '8', 9.507, 10.5, 900_000, 30, { born: 9.5 });
  assert.deepEqual(now(11), [901_000, 30]);
  // but one that did, by its own record
  sample(12, '9', 10.5, 100, 10);
  record(12, '10', 11, 11.5, 1000, 4);
  assert.deepEqual(now(12), [1_002_000, 30]);
  record(13, '9', 10.499, 12.5, 1_000_000, 10, { born: 10.49 });
  assert.deepEqual(now(13), [1_902_000, 40]);
});

test('a process that becomes another program counts once', (t) => {
  const { record, now } = machine(t);
  record(10, '7', 9, 9.2, 1000, 2, { ended: 'exec' });
  record(10, '7', 9.2, 9.9, 5000, 3, { born: 9 });
  assert.deepEqual(now(10), [5000, 3]);
});

test('a pid that is used again is another process', (t) => {
  const { record, now } = machine(t);
  record(10, '7', 9, 9.2, 1000, 2);
  record(10, '7', 9.6, 9.9, 5000, 3);
  assert.deepEqual(now(10), [6000, 3]);
});

test('the next agent counts on from what it finds, if the one before has left no sum', (t) => {
  const { sample, record, now } = machine(t, 'unknown');
  sample(20, '7', 9.5, 4000, 30);
  assert.deepEqual(now(20), [0, 30]);
  record(21, '7', 9.5, 20.7, 4_500_000, 30);
  assert.deepEqual(now(21), [500_000, 30]);
});

test('the next agent counts on from where the one before has come: what was used meanwhile is in the sum', (t) => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-totals-'));
  t.after(() => fs.rmSync(folder, { recursive: true }));
  const write = (name: string, text: string): void => fs.writeFileSync(path.join(folder, name), text);
  assert.equal(earlierTotals(folder), undefined);
  const at = (BOOT + 15) * SECOND;
  const [total, torn] = [`${at},4100000,${40 * MEGABYTE},\n`, `${at + SECOND},41`];
  write('process_total.csv', `time,cpu_us,peak_bytes,told_peak_bytes\n${at - SECOND},3000000,,\n${total}${torn}`);
  const start = (BOOT + 9.5) * 1000;
  const rows = [
    `${at - SECOND},7,${start},"sh -c \n""x""",2900,0`,
    `${at},7,${start},,3900,100`,
    `${at},8,${start},,10`,
  ];
  write('process.csv', `time,pid,start,command,user_ms,system_ms\n${rows.join('\n')}`);
  const left = earlierTotals(folder)!;
  const processes = new Map([['7', { start, used_us: 4_000_000, children_us: 0 }]]);
  assert.deepEqual(left, { cpu_us: 4_100_000, peak_bytes: 40 * MEGABYTE, time: at, processes });
  const sum = (pid: string, start: number, ms: number): number => {
    const { sample, now } = machine(t, left);
    sample(20, pid, start, ms, 30);
    return now(20)[0];
  };
  assert.equal(sum('7', 9.5, 4500), 4_600_000, 'it was there');
  assert.equal(sum('9', 16, 700), 4_800_000, 'it began when no agent was there');
  assert.equal(sum('10', 3, 700), 4_100_000, 'it is older, and was counted with others');
});

test('what children used that no sample saw is counted when they were waited for, unless processes record themselves', (t) => {
  const { family, record, now } = machine(t);
  family(10, [
    ['7', 1, 10, 0, 'S'],
    ['8', 7, 200, 0, 'R'],
  ]);
  assert.deepEqual(now(10), [210_000, 0]);
  // 8 used 50 ms more before it ended; another came and went
  family(11, [
    ['7', 1, 10, 280, 'S'],
    ['8', 7, 200, 0, 'X'],
  ]);
  assert.deepEqual(now(11), [290_000, 0]);
  family(12, [['7', 1, 10, 280, 'S']]);
  assert.deepEqual(now(12), [290_000, 0]);
  record(13, '9', 12, 12.5, 40_000, 1);
  family(13, [['7', 1, 10, 320, 'S']]);
  assert.deepEqual(now(13)[0], 330_000);
});
