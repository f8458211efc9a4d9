import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { agentOf, appendRows, jobOf, type Row, START, temporary } from '../../../test/make-recording.ts';
import { openRecording } from '../../recording/folder/open.ts';
import { processTable } from '../../sources/process/table.ts';
import { processEndTable } from '../../sources/records/tables.ts';
import { readProcesses } from './processes.ts';

const at = (seconds: number): number => START + seconds * 1e6;

/** A shell of 4 MiB that executes a program at second 5, which its parent tells of; what sampling saw of them, and when. */
async function program(
  samples: readonly [when: number, peakMiB: number, readChars: number][],
  shell: Partial<Row> = {},
) {
  const folder = temporary();
  const node = path.join(folder, 'node=c1');
  const image = { pid: '10', ppid: 1, exitcode: 0, numtids: 1, starttime: 100, systemtime: 0 };
  await appendRows(node, processEndTable, [
    {
      ...{ ...image, time: at(5), start: String(at(1)), exename: 'bash', ended: 'exec', told_by: 'itself' },
      ...{ usertime: 1e6, rssmax: 4096, rchar: 1000, ...shell },
    },
    { ...image, time: at(9), start: String(at(5)), exename: 'sim', ended: 'exit', told_by: 'parent', usertime: 3e6 },
  ]);
  const sample = {
    pid: '10',
    start: String(at(1) / 1000),
    name: 'sim',
    user: 'ada',
    uid: 1000,
    ppid: 1,
    user_ms: 1000,
  };
  await appendRows(
    node,
    processTable,
    samples.map(([when, peak, read]) => ({
      ...{ ...sample, time: at(when), read_chars: read, rss_bytes: peak << 20, rss_peak_bytes: peak << 20 },
    })),
  );
  fs.writeFileSync(path.join(folder, 'job.json'), JSON.stringify(jobOf()));
  fs.writeFileSync(path.join(node, 'agent.json'), JSON.stringify(agentOf('c1', [processEndTable, processTable])));
  const set = readProcesses([openRecording(folder)]);
  const i = set.exename.indexOf('sim');
  assert.equal(set.source[i], 'parent');
  return ['rssmax', 'rchar'].map((name) => set.metrics.get(name)![i]);
}

test('what sampling saw of a process before it executed a program is not that program', async () => {
  assert.deepEqual(await program([[3, 3, 900]]), [Number.NaN, Number.NaN], 'seen as the shell alone');
  assert.deepEqual(
    await program([
      [3, 3, 900],
      [7, 2, 1500],
    ]),
    [Number.NaN, 500],
    "a peak that may be the shell's",
  );
  assert.deepEqual(
    await program([
      [3, 3, 900],
      [7, 90, 1500],
    ]),
    [90 * 1024, 500],
    'the shell never had as much',
  );
  assert.deepEqual(await program([[7, 2, 1500]]), [2048, 500], 'seen as the program alone');
  const unknown = await program(
    [
      [3, 90, 900],
      [7, 2, 1500],
    ],
    { rssmax: Number.NaN },
  );
  assert.deepEqual(unknown, [Number.NaN, 500], 'nobody knows how much the shell had');
});

test('a server whose processes say what they do in place of their arguments has them apart', async () => {
  const folder = temporary();
  const node = path.join(folder, 'node=c1');
  const commands = ["'postgres: checkpointer '", "'nginx: worker process'", "'/opt/my prog' -n 4", 'postgres -D db'];
  await appendRows(
    node,
    processTable,
    commands.map((command, i) => ({
      ...{ time: at(3), pid: String(10 + i), start: String(at(1) / 1000), name: i < 3 ? '' : 'postgres', command },
      ...{ user: 'ada', uid: 1000, ppid: 1, user_ms: 1000 },
    })),
  );
  fs.writeFileSync(path.join(folder, 'job.json'), JSON.stringify(jobOf()));
  fs.writeFileSync(path.join(node, 'agent.json'), JSON.stringify(agentOf('c1', [processTable])));
  const set = readProcesses([openRecording(folder)]);
  assert.deepEqual(
    Array.from(set.pid, (pid, i) => [pid, set.exename[i], set.args[i]]),
    [
      [10, 'postgres', 'checkpointer'],
      [11, 'nginx', 'worker process'],
      [12, 'my prog', '-n 4'],
      [13, 'postgres', '-D db'],
    ],
  );
});
