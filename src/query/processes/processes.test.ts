import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { agentOf, appendRows, jobOf, type Row, START, temporary } from '../../../test/make-recording.ts';
import { openRecording } from '../../recording/folder/open.ts';
import { sealRecording } from '../../recording/sealed/seal.ts';
import { agentTable } from '../../sources/own/agent.ts';
import { processTable } from '../../sources/process/table.ts';
import { processEndTable, processStartTable } from '../../sources/records/tables.ts';
import { readProcesses } from './processes.ts';
import { NUMBERS, type ProcessSet, TEXTS } from './set.ts';

const at = (tenths: number): number => START + tenths * 1e5;

/** A process of one or two programs; each record may be missing, and some ticks saw it. Tenths of a second. */
const process = fc.record({
  pid: fc.integer({ min: 2, max: 9 }),
  ppid: fc.integer({ min: 1, max: 9 }),
  born: fc.integer({ min: -50, max: 400 }),
  life: fc.integer({ min: 1, max: 200 }),
  exec: fc.option(fc.integer({ min: 0, max: 100 })),
  hasStart: fc.boolean(),
  end: fc.constantFrom('itself', 'parent', 'none'),
  ticks: fc.integer({ min: 0, max: 4 }),
  used: fc.integer({ min: 0, max: 1000 }),
  isGone: fc.boolean(),
});
type Given = typeof process extends fc.Arbitrary<infer T> ? T : never;

function rowsOf(given: readonly Given[]) {
  const rows = { start: [] as Row[], end: [] as Row[], sample: [] as Row[] };
  for (const { pid, ppid, born, life, exec, hasStart, end, ticks, used, isGone } of given) {
    const image = { pid: String(pid), ppid, uid: 1000, exename: `p${pid}` };
    const next = exec === null || exec >= life ? undefined : born + exec;
    const first = { ...image, start: String(at(born)) };
    if (hasStart) rows.start.push({ ...first, time: at(born), began: 'exec' });
    const last = next === undefined ? first : { ...image, start: String(at(next)), exename: 'next' };
    const counted = { starttime: 1000 + born * 10, usertime: used * 1000, systemtime: 10, rssmax: used };
    if (next !== undefined)
      rows.end.push({ ...first, ...counted, time: at(next), usertime: used * 400, ended: 'exec', told_by: 'itself' });
    if (end !== 'none') rows.end.push({ ...last, ...counted, time: at(born + life), ended: 'exit', told_by: end });
    const tick = Math.ceil(Math.max(born, 0) / 10) * 10;
    for (let k = 0; k < ticks && (k === 0 || tick + k * 10 <= born + life); k++)
      rows.sample.push({
        ...{ time: at(tick + k * 10), pid: String(pid), start: String(at(born) / 1000), ppid, uid: 1000, user: 'ada' },
        ...{ name: `p${pid}`, command: `p${pid} -x`, state: isGone && k === ticks - 1 ? 'X' : 'S', threads: k + 1 },
        ...{
          user_ms: Math.floor((used * (k + 1)) / ticks),
          system_ms: 1,
          rss_bytes: used << 10,
          rss_peak_bytes: used << 10,
        },
      });
  }
  return rows;
}

async function recording(given: readonly Given[]): Promise<string> {
  const folder = temporary();
  const node = path.join(folder, 'node=c1');
  const { start, end, sample } = rowsOf(given);
  const unique = (rows: Row[]): Row[] => [
    ...new Map(rows.map((row) => [`${row.pid} ${row.start} ${row.time}`, row])).values(),
  ];
  for (const [table, rows] of [
    [processStartTable, start],
    [processEndTable, end],
    [processTable, sample],
    [agentTable, [{ time: at(0) }, { time: at(450) }] as Row[]],
  ] as const) {
    const sorted = (table === agentTable ? rows : unique(rows)).toSorted((a, b) => a.time - b.time);
    if (sorted.length > 0) await appendRows(node, table, sorted);
  }
  fs.writeFileSync(path.join(folder, 'job.json'), JSON.stringify(jobOf({ end: at(600) })));
  const tables = [processStartTable, processEndTable, processTable, agentTable];
  fs.writeFileSync(path.join(node, 'agent.json'), JSON.stringify(agentOf('c1', tables, { interval_seconds: 1 })));
  return folder;
}

/** Everything that a set says, without where it comes from. */
function rowsOfSet(set: ProcessSet): unknown {
  const columns = [...NUMBERS.map((name) => [...set[name]]), ...TEXTS.map((name) => [...set[name]])];
  const metrics = [...set.metrics].map(([name, values]) => [name, ...values]).sort((a, b) => (a[0]! < b[0]! ? -1 : 1));
  return { columns, metrics, parent: [...set.parent], process: [...set.process] };
}

test('sealed and unsealed, the processes are the same, and each row is of one process', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(process, { minLength: 1, maxLength: 12 }), async (given) => {
      const folder = await recording(given);
      const set = readProcesses([openRecording(folder)]);
      const before = rowsOfSet(set);
      sealRecording(openRecording(folder), { force: true, parquet: true });
      assert.deepEqual(rowsOfSet(readProcesses([openRecording(folder)])), before);
      for (let i = 0; i < set.length; i++) {
        const first = set.process[i]!;
        assert.deepEqual([set.pid[i], set.birth[i]], [set.pid[first], set.birth[first]], 'one process, one birth');
        assert.ok(set.start[first]! <= set.start[i]!, 'the first image comes first');
        if (set.parent[i]! >= 0) assert.equal(set.pid[set.parent[i]!], set.ppid[i]);
      }
      const rows = new Set(given.flatMap((one) => (one.ticks > 0 ? [`${one.pid} ${at(one.born)}`] : [])));
      const sampled = new Set(Array.from(set.pid, (pid, i) => `${pid} ${set.sampled_birth[i]}`));
      for (const each of rows) assert.ok(sampled.has(each), `${each}: a sampled process is in the set`);
      fs.rmSync(folder, { recursive: true });
    }),
    { numRuns: 40 },
  );
});
