import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { type GatherOptions, gather } from '../src/judge/gather.ts';
import { report } from '../src/judge/report.ts';
import { openRecording } from '../src/recording/open.ts';
import { sealRecording } from '../src/recording/seal.ts';
import { cgroupTable } from '../src/sources/cgroup-table.ts';
import { processEndTable, processStartTable } from '../src/sources/process-records.ts';
import { processTable } from '../src/sources/process-table.ts';
import type { Table } from '../src/table/table.ts';
import { agentOf, appendRows, jobOf, type Row, START, temporary } from './make-recording.ts';

/** Processes that lived so: seconds from the job's start, and the CPU time that they told of at their end. */
interface Lived {
  pid: number;
  ppid?: number;
  step: string;
  from: number;
  to: number;
  cpu: number;
  /** It was killed: sampling has seen this CPU time, and there is no record of its end. */
  killed?: true;
}

const SCRIPT: Lived = { pid: 10, step: '', from: 0.1, to: 59.9, cpu: 1 };
const LIVED: readonly Lived[] = [
  SCRIPT,
  // step 0, and beside it step 1, which ends after the second that Slurm says it ended in
  { pid: 20, step: '0', from: 5.2, to: 40.8, cpu: 30 },
  { pid: 21, ppid: 20, step: '', from: 6, to: 7, cpu: 0.5 },
  { pid: 30, step: '1', from: 10.2, to: 20.6, cpu: 8 },
  { pid: 31, step: '1', from: 10.2, to: 20, cpu: 6, killed: true },
];

const without = (table: Table): Table => ({ ...table, columns: table.columns.filter(({ name }) => name !== 'step') });

/** A minute on one node, one CPU of whose cgroup was busy. `steps`: do records tell of them? */
async function recorded(steps: boolean, lived = LIVED): Promise<string> {
  const folder = path.join(temporary(), 'tacho-17');
  const place = path.join(folder, 'node=c1');
  fs.mkdirSync(place, { recursive: true });
  const step = (id: string, from: number, to: number) => ({ id, start: START + from * 1e6, end: START + to * 1e6 });
  const known = [step('batch', 0, 60), step('0', 5, 40), step('1', 10, 20)];
  fs.writeFileSync(path.join(folder, 'job.json'), JSON.stringify(jobOf({ asked: { cpus: 4 }, steps: known })));
  const [starts, ends] = [processStartTable, processEndTable].map((table) => (steps ? table : without(table)));
  const tables = [cgroupTable, processTable, starts!, ends!];
  const scope = { members: 'cgroup' as const, cgroup: '/job_17' };
  fs.writeFileSync(path.join(place, 'agent.json'), JSON.stringify(agentOf('c1', tables, { scope })));
  const ticks = Array.from({ length: 61 }, (_, t) => t);
  await appendRows(
    place,
    cgroupTable,
    ticks.map((t): Row => ({ time: START + t * 1e6, cgroup: '.', usage_us: t * 1e6 })),
  );
  const at = (seconds: number): number => START + Math.round(seconds * 1e6);
  const sampled = ticks.flatMap((t) =>
    lived
      .filter(({ from, to }) => t >= from && t <= to)
      .map(({ pid, from, to, cpu }): Row => {
        const who = { pid: String(pid), start: String(at(from) / 1000), name: `p${pid}`, state: 'R' };
        return { time: START + t * 1e6, ...who, user_ms: Math.round((1000 * cpu * (t - from)) / (to - from)) };
      }),
  );
  await appendRows(place, processTable, sampled);
  const who = ({ pid, ppid = 1, step, from }: Lived): Omit<Row, 'time'> => ({
    ...{ pid: String(pid), start: String(at(from)), ppid, uid: 1000, exename: `p${pid}`, path: `/p${pid}` },
    ...(steps ? { step } : {}),
  });
  await appendRows(
    place,
    starts!,
    lived.toSorted((a, b) => a.from - b.from).map((one): Row => ({ time: at(one.from), ...who(one), began: 'exec' })),
  );
  await appendRows(
    place,
    ends!,
    lived
      .filter(({ killed }) => killed !== true)
      .toSorted((a, b) => a.to - b.to)
      .map((one): Row => {
        const ended = { ended: 'exit', told_by: 'itself', exitcode: 0, exitsignal: 0, numtids: 1 };
        return { time: at(one.to), ...who(one), ...ended, usertime: one.cpu * 1e6, systemtime: 0 };
      }),
  );
  return folder;
}

function told(folder: string, part: GatherOptions): unknown[] {
  const { processes, summary, confined } = report(gather(openRecording(folder), part));
  const pids = processes.map(({ pid }) => Number(pid)).sort((a, b) => a - b);
  return [pids, summary.processes, summary.cpu_seconds, summary.cpu_source, confined?.what];
}

test('a step has the processes that were started in it, whatever else ran meanwhile', async () => {
  const folder = await recorded(true);
  const what = (id: string): string =>
    `step ${id} (by the scheduler, in whole seconds; its own processes; all else is what the job did on its nodes meanwhile)`;
  const check = (): void => {
    // one that was started without an environment is of the step of who started it
    assert.deepEqual(told(folder, { step: '0' }), [[20, 21], 2, 30.5, 'records', what('0')]);
    assert.deepEqual(told(folder, { step: '1' }), [[30, 31], 2, 14, 'records and samples', what('1')]);
    assert.deepEqual(told(folder, { step: 'batch' }), [[10], 1, 1, 'records', what('batch')]);
  };
  check();
  sealRecording(openRecording(folder));
  check();
  // of a part of the step, what began and ended in that, and what sampling saw of the other from 6 s to 8 s
  const [pids, , seconds] = told(folder, { step: '0', from: START + 5.5e6, to: START + 8e6 });
  assert.deepEqual([pids, seconds], [[20, 21], 0.5 + 1.686]);
});

test('a script that was submitted from a step of another job does not have its step', async () => {
  const others = [
    { ...SCRIPT, step: '0' },
    { pid: 11, ppid: 10, step: '0', from: 41, to: 50, cpu: 2 },
    // srun, and its task
    { pid: 12, ppid: 10, step: '0', from: 5, to: 41, cpu: 0.1 },
  ];
  const folder = await recorded(true, [...others, ...LIVED.slice(1)]);
  assert.deepEqual(told(folder, { step: '0' }).slice(0, 3), [[20, 21], 2, 30.5]);
  assert.deepEqual(told(folder, { step: 'batch' }).slice(0, 3), [[10, 11, 12], 3, 3.1]);
});

test('where records do not tell of steps, the time decides', async () => {
  const [pids, , seconds, source, what] = told(await recorded(false), { step: '1' });
  assert.deepEqual([pids, seconds, source], [[10, 20, 30, 31], 10, 'cgroup']);
  assert.equal(what, 'step 1 (by the scheduler, in whole seconds, with all that the job did on its nodes meanwhile)');
});
