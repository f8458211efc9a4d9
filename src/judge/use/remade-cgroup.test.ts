import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { agentOf, appendRows, jobOf, START, temporary } from '../../../test/make-recording.ts';
import { openRecording } from '../../recording/folder/open.ts';
import { sealRecording } from '../../recording/sealed/seal.ts';
import { cgroupTable } from '../../sources/cgroup/table.ts';
import { processTable } from '../../sources/process/table.ts';
import { processEndTable, processStartTable } from '../../sources/records/tables.ts';
import { gather } from '../facts/gather.ts';
import { report } from '../report.ts';

/** Seconds in which a step keeps a CPU busy; the job's cgroup on this node is there only meanwhile. */
const STEPS = [
  { pid: '20', from: 0.2, to: 4.8 },
  { pid: '30', from: 6.2, to: 10.8 },
];

const at = (seconds: number): number => START + Math.round(seconds * 1e6);

/** Twelve seconds, recorded by the node's own agent. */
async function recorded(): Promise<string> {
  const folder = path.join(temporary(), 'job=17');
  const nodePath = path.join(folder, 'node=c1');
  fs.mkdirSync(nodePath, { recursive: true });
  fs.writeFileSync(path.join(folder, 'job.json'), JSON.stringify(jobOf({ end: at(12) })));
  const tables = [cgroupTable, processTable, processStartTable, processEndTable];
  const agent = agentOf('c1', tables, { scope: { members: 'cgroup', cgroup: '/job_17' }, service: true });
  fs.writeFileSync(path.join(nodePath, 'agent.json'), JSON.stringify(agent));
  const samples = STEPS.flatMap(({ pid, from, to }) =>
    Array.from({ length: 13 }, (_, t) => t)
      .filter((t) => t >= from && t <= to)
      .map((t) => ({ time: at(t), pid, start: String(at(from) / 1000), used: t - from })),
  );
  await appendRows(
    nodePath,
    cgroupTable,
    samples.map(({ time, used }) => ({ time, cgroup: '.', usage_us: Math.round(used * 1e6) })),
  );
  await appendRows(
    nodePath,
    processTable,
    samples.map(({ used, ...who }) => ({ ...who, name: 'burn', state: 'R', user_ms: Math.round(used * 1000) })),
  );
  const who = { ppid: 1, uid: 1000, exename: 'burn', path: '/burn' };
  const end = { ended: 'exit', told_by: 'itself', exitcode: 0, exitsignal: 0, numtids: 1, systemtime: 0 };
  await appendRows(
    nodePath,
    processStartTable,
    STEPS.map(({ pid, from }) => ({ time: at(from), pid, start: String(at(from)), ...who, began: 'exec' })),
  );
  await appendRows(
    nodePath,
    processEndTable,
    STEPS.map(({ pid, from, to }) => {
      return { time: at(to), pid, start: String(at(from)), ...who, ...end, usertime: Math.round((to - from) * 1e6) };
    }),
  );
  return folder;
}

test('parts of a job whose cgroup was made anew have what its processes used, as the whole has', async () => {
  const folder = await recorded();
  const used = (from?: number, to?: number): number => {
    const range = from === undefined ? {} : { from: at(from), to: at(to!) };
    return report(gather(openRecording(folder), range)).summary.cpu_seconds!;
  };
  const check = (): void => {
    assert.equal(used(), 9.2);
    const cpuSeconds = [0, 3, 6, 9].map((from) => Number(used(from, from + 3).toFixed(3)));
    assert.deepEqual(cpuSeconds, [2.8, 1.8, 2.8, 1.8]);
  };
  check();
  sealRecording(openRecording(folder));
  check();
});
