import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { agentOf, appendRows, jobOf, type Row, START, temporary } from '../../../test/make-recording.ts';
import { openRecording } from '../../recording/folder/open.ts';
import { sealRecording } from '../../recording/sealed/seal.ts';
import { cgroupTable } from '../../sources/cgroup/table.ts';
import { processTable } from '../../sources/process/table.ts';
import { processEndTable, processStartTable } from '../../sources/records/tables.ts';
import type { Table } from '../../table/table.ts';
import { type GatherOptions, gather } from '../facts/gather.ts';
import { report } from '../report.ts';

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
  /** It cannot record itself: sampling alone saw it. */
  static?: true;
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
async function recorded(steps: boolean, lifetimes = LIVED, interval_seconds = 1): Promise<string> {
  const folder = path.join(temporary(), 'tacho-17');
  const nodePath = path.join(folder, 'node=c1');
  fs.mkdirSync(nodePath, { recursive: true });
  const step = (id: string, from: number, to: number) => ({ id, start: START + from * 1e6, end: START + to * 1e6 });
  const knownSteps = [step('batch', 0, 60), step('0', 5, 40), step('1', 10, 20)];
  fs.writeFileSync(
    path.join(folder, 'job.json'),
    JSON.stringify(jobOf({ asked: { cpus: 4 }, steps: knownSteps, interval_seconds })),
  );
  const [starts, ends] = [processStartTable, processEndTable].map((table) => (steps ? table : without(table)));
  const tables = [cgroupTable, processTable, starts!, ends!];
  const scope = { members: 'cgroup' as const, cgroup: '/job_17' };
  fs.writeFileSync(
    path.join(nodePath, 'agent.json'),
    JSON.stringify(agentOf('c1', tables, { scope, interval_seconds })),
  );
  const ticks = Array.from({ length: 60 / interval_seconds + 1 }, (_, tick) => tick * interval_seconds);
  await appendRows(
    nodePath,
    cgroupTable,
    ticks.map((t): Row => ({ time: START + t * 1e6, cgroup: '.', usage_us: t * 1e6 })),
  );
  const at = (seconds: number): number => START + Math.round(seconds * 1e6);
  const sampled = ticks.flatMap((t) =>
    lifetimes
      .filter(({ from, to }) => t >= from && t <= to)
      .map(({ pid, from, to, cpu }): Row => {
        const who = { pid: String(pid), start: String(at(from) / 1000), name: `p${pid}`, state: 'R' };
        return { time: START + t * 1e6, ...who, user_ms: Math.round((1000 * cpu * (t - from)) / (to - from)) };
      }),
  );
  await appendRows(nodePath, processTable, sampled);
  const who = ({ pid, ppid = 1, step, from }: Lived): Omit<Row, 'time'> => ({
    ...{ pid: String(pid), start: String(at(from)), ppid, uid: 1000, exename: `p${pid}`, path: `/p${pid}` },
    ...(steps ? { step } : {}),
  });
  const records = lifetimes.filter((one) => one.static !== true);
  await appendRows(
    nodePath,
    starts!,
    records.toSorted((a, b) => a.from - b.from).map((one): Row => ({ time: at(one.from), ...who(one), began: 'exec' })),
  );
  await appendRows(
    nodePath,
    ends!,
    records
      .filter(({ killed }) => killed !== true)
      .toSorted((a, b) => a.to - b.to)
      .map((one): Row => {
        const ended = { ended: 'exit', told_by: 'itself', exitcode: 0, exitsignal: 0, numtids: 1 };
        return { time: at(one.to), ...who(one), ...ended, usertime: one.cpu * 1e6, systemtime: 0 };
      }),
  );
  return folder;
}

function partFigures(folder: string, selection: GatherOptions): unknown[] {
  const { processes, summary, confined } = report(gather(openRecording(folder), selection));
  const pids = processes.map(({ pid }) => Number(pid)).sort((a, b) => a - b);
  return [pids, summary.processes, summary.cpu_seconds, summary.cpu_source, confined?.what];
}

test('a step has the processes that were started in it, whatever else ran meanwhile', async () => {
  const folder = await recorded(true);
  const what = (id: string): string =>
    `step ${id} (its own processes; all else is what the job did on its nodes meanwhile)`;
  const check = (): void => {
    // one that was started without an environment is of the step of who started it
    assert.deepEqual(partFigures(folder, { step: '0' }), [[20, 21], 2, 30.5, 'records', what('0')]);
    assert.deepEqual(partFigures(folder, { step: '1' }), [[30, 31], 2, 14, 'records and samples', what('1')]);
    assert.deepEqual(partFigures(folder, { step: 'batch' }), [[10], 1, 1, 'records', what('batch')]);
  };
  check();
  sealRecording(openRecording(folder));
  check();
  // its time is that of its processes, not the scheduler's whole seconds
  assert.equal(report(gather(openRecording(folder), { step: '0' })).summary.wall_seconds, 35.6);
  assert.equal(report(gather(openRecording(folder), { step: '0' })).nodes[0]?.cpu_window_seconds, 35.6);
  // of a part of the step, what began and ended in that, and what the other used from 5.5 s to 8 s
  const [pids, , seconds] = partFigures(folder, { step: '0', from: START + 5.5e6, to: START + 8e6 });
  assert.deepEqual([pids, Number((seconds as number).toFixed(3))], [[20, 21], 0.5 + 2.107]);
});

test('a script that was submitted from a step of another job does not have its step', async () => {
  const others = [
    { ...SCRIPT, step: '0' },
    { pid: 11, ppid: 10, step: '0', from: 41, to: 50, cpu: 2 },
    // srun, and its task
    { pid: 12, ppid: 10, step: '0', from: 5, to: 41, cpu: 0.1 },
  ];
  const folder = await recorded(true, [...others, ...LIVED.slice(1)]);
  assert.deepEqual(partFigures(folder, { step: '0' }).slice(0, 3), [[20, 21], 2, 30.5]);
  assert.deepEqual(partFigures(folder, { step: 'batch' }).slice(0, 3), [[10, 11, 12], 3, 3.1]);
});

test('where records do not tell of steps, the time decides', async () => {
  const [pids, , seconds, source, what] = partFigures(await recorded(false), { step: '1' });
  assert.deepEqual([pids, seconds, source], [[10, 20, 30, 31], 10, 'cgroup']);
  assert.equal(what, 'step 1 (by the scheduler, in whole seconds, with all that the job did on its nodes meanwhile)');
});

/** Time, CPU time and where that is from, and what the card says of it. */
function used(folder: string, step: string): unknown[] {
  const { summary, confined } = report(gather(openRecording(folder), { step }));
  return [summary.wall_seconds, summary.cpu_seconds, summary.cpu_source, confined?.what];
}

test('a step too short for samples of its own has its CPU time and its time by records, all else by those around it', async () => {
  // it is sampled at 30 s, after step 1 has ended
  const other: Lived = { pid: 40, step: '', from: 21, to: 31, cpu: 3, static: true };
  const folder = await recorded(true, [...LIVED.slice(0, 4), other], 10);
  const stepNote =
    'its own processes; too short to be sampled by itself: all else is from the samples around it, over 30.0 s';
  assert.deepEqual(used(folder, '1'), [10.4, 8, 'records', `step 1 (${stepNote})`]);
  assert.deepEqual(partFigures(folder, { step: '1' })[0], [30]);
  const { nodes, confined } = report(gather(openRecording(folder), { step: '1' }));
  assert.deepEqual([nodes[0]?.cpu_window_seconds, confined?.from], [10.4, START + 10.2e6]);
});

test('a short step whose records do not tell all of it is the time of the samples around it, in every figure', async () => {
  const stepNote = 'step 1 (too short to be sampled by itself: about 10.0 s), with the samples around it';
  // one was killed
  assert.deepEqual(used(await recorded(true, [SCRIPT, ...LIVED.slice(3)], 10), '1'), [30, 30, 'cgroup', stepNote]);
  // its program cannot record itself, but what was started before it did
  const prolog: Lived = { pid: 30, step: '1', from: 10.2, to: 10.3, cpu: 0.01 };
  const task: Lived = { pid: 31, step: '1', from: 10.2, to: 20.6, cpu: 8, static: true };
  assert.deepEqual(used(await recorded(true, [SCRIPT, prolog, task], 10), '1'), [30, 30, 'cgroup', stepNote]);
});

test('where records tell of a little of a step alone, its time is the scheduler’s', async () => {
  const lifetimes = [...LIVED.slice(0, 3), { pid: 30, step: '1', from: 10.2, to: 10.3, cpu: 0.01 }];
  const what =
    'step 1 (by the scheduler, in whole seconds; its own processes; all else is what the job did on its nodes meanwhile)';
  assert.deepEqual(used(await recorded(true, lifetimes), '1'), [10, 0.01, 'records', what]);
});
