import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { testSet } from '../../../test/made/processes.ts';
import { agentOf, appendRows, jobOf, type Row, START, temporary } from '../../../test/make-recording.ts';
import { openRecording } from '../../recording/folder/open.ts';
import { cgroupTable } from '../../sources/cgroup/table.ts';
import { network } from '../../sources/host/network.ts';
import { power } from '../../sources/host/power.ts';
import { marker } from '../../sources/own/marker.ts';
import { processTable } from '../../sources/process/table.ts';
import { type GatherOptions, gather } from '../facts/gather.ts';
import { report } from '../report.ts';
import type { Report } from '../report-schema.ts';

const EVERY = 10;
const FIRST = 20;
const LAST = 120;

/** Two minutes, sampled every 10 s from the 20th second on: one CPU of four busy until 30 s, then three; 100 W and 1 MB/s. */
async function recorded(own: 'cgroup' | 'processes' = 'cgroup', without: readonly number[] = []): Promise<string> {
  const folder = path.join(temporary(), 'tacho-17');
  const nodePath = path.join(folder, 'node=c1');
  fs.mkdirSync(nodePath, { recursive: true });
  const job = jobOf({ interval_seconds: EVERY, end: START + 130e6, asked: { cpus: 4 } });
  fs.writeFileSync(path.join(folder, 'job.json'), JSON.stringify(job));
  const used = (t: number): number => (t <= 30 ? t : 30 + (t - 30) * 3);
  const rows = (row: (t: number) => Record<string, number | string>): Row[] =>
    Array.from({ length: (LAST - FIRST) / EVERY + 1 }, (_, i) => FIRST + i * EVERY)
      .filter((t) => !without.includes(t))
      .map((t) => ({ time: START + t * 1e6, ...row(t) }));
  const worked =
    own === 'cgroup'
      ? { table: cgroupTable, row: (t: number) => ({ cgroup: '.', usage_us: used(t) * 1e6 }) }
      : {
          table: processTable,
          row: (t: number) => ({ pid: '7', start: String(START / 1000), state: 'R', user_ms: used(t) * 1000 }),
        };
  await appendRows(nodePath, worked.table, rows(worked.row));
  await appendRows(
    nodePath,
    power.table,
    rows((t) => ({ domain: 'node', meter: 'pm_counters', energy_mj: t * 100_000 })),
  );
  await appendRows(
    nodePath,
    network.table,
    rows((t) => ({ interface: 'eth0', class: 'ethernet', received_bytes: t * 1e6, sent_bytes: 0 })),
  );
  const tables = [worked.table, power.table, network.table, marker.table];
  const scope = own === 'cgroup' ? { members: 'cgroup' as const, cgroup: '/job_17' } : { members: 'tree' as const };
  const times = { interval_seconds: EVERY, start: START + FIRST * 1e6, end: START + LAST * 1e6 };
  const agentTimes = { first_sample: times.start, last_sample: times.end, ticks: 11 };
  fs.writeFileSync(
    path.join(nodePath, 'agent.json'),
    JSON.stringify(agentOf('c1', tables, { scope, ...times, ...agentTimes })),
  );
  const mark = (second: number, action: string, name: string): Row => ({ time: START + second * 1e6, action, name });
  await appendRows(nodePath, marker.table, [
    mark(5, 'begin', 'load'),
    mark(20, 'end', 'load'),
    mark(43, 'begin', 'solve'),
    mark(68, 'end', 'solve'),
    mark(72, 'begin', 'short'),
    mark(75, 'end', 'short'),
  ]);
  return folder;
}

const near = (measured: number | undefined, wanted: number): boolean => Math.abs(measured! - wanted) < 1e-9 * wanted;

function figuresOf({ summary, flows }: Report): (number | undefined)[] {
  const received = flows.find(({ what }) => what === 'network')?.in_bytes;
  return [summary.cpu_seconds, summary.cpu_utilization, summary.energy_joules, received];
}

test('what a part used is counted from its beginning to its end, though samples lie beside these', async () => {
  const recording = openRecording(await recorded());
  const of = (selection: GatherOptions): (number | undefined)[] => figuresOf(report(gather(recording, selection)));
  assert.deepEqual(of({ marker: 'solve' }), [75, 0.75, 2500, 25e6]);
  // no sample is in it
  assert.deepEqual(of({ marker: 'short' }), [9, 0.75, 300, 3e6]);
  // nobody looked before 20 s: what is known is divided by the time that it is known of
  assert.deepEqual(of({ from: START + 5e6, to: START + 35e6 }), [25, 25 / 15 / 4, 1500, 15e6]);
  // nor after 120 s
  assert.deepEqual(of({ from: START + 115e6 }), [15, 0.75, 500, 5e6]);
  // a single sample says nothing of a growth
  assert.deepEqual(of({ marker: 'load' }), [undefined, undefined, undefined, undefined]);
});

test('phases have the CPUs and the power of the time that is known', async () => {
  const { phases } = report(gather(openRecording(await recorded()), { phases: true }));
  const [load, solve, short] = phases;
  assert.deepEqual([load!.cpu_utilization, load!.power_watts], [undefined, undefined]);
  assert.deepEqual([solve!.cpu_utilization, solve!.power_watts], [0.75, 100]);
  assert.ok(near(short!.cpu_utilization, 0.75) && near(short!.power_watts, 100));
});

test('a gap in the recording is not taken for a steady time', async () => {
  const recording = openRecording(await recorded('cgroup', [40, 50, 60]));
  // samples at 30 s and at 70 s: what was used between 43 s and 68 s is not known
  assert.deepEqual(figuresOf(report(gather(recording, { marker: 'solve' }))), [
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
  assert.deepEqual(
    figuresOf(report(gather(recording, { from: START + 43e6, to: START + 90e6 }))),
    [60, 0.75, 2000, 20e6],
  );
});

test('what processes used is cut at the edges of a part, too', async () => {
  const recording = openRecording(await recorded('processes'));
  const of = (selection: GatherOptions) => report(gather(recording, selection)).summary;
  assert.equal(of({ marker: 'solve' }).cpu_seconds, 75);
  assert.equal(of({ marker: 'short' }).cpu_seconds, 9);
  assert.equal(of({ marker: 'solve' }).cpu_source, 'processes');
});

test('phases, too, have what processes recorded that began and ended in them', async () => {
  // by samples three CPUs were at work, by the record of a process that lived between two of them all four
  const processes = testSet([{ pid: 8, node: 'c1', from: 72, to: 75, cpu: 12, source: 'record', ended: 'exit' }]);
  const { phases } = report(gather(openRecording(await recorded()), { phases: true, processes }));
  assert.ok(near(phases.find(({ name }) => name === 'short')!.cpu_utilization, 12 / 3 / 4));
  assert.equal(phases.find(({ name }) => name === 'solve')!.cpu_utilization, 0.75);
});

test('the quality of a part is its own, also where nothing was sampled', async () => {
  const recording = openRecording(await recorded('cgroup', [60, 70, 80, 90]));
  const of = (from: number, to: number): unknown[] => {
    const { quality, nodes } = report(gather(recording, { from: START + from * 1e6, to: START + to * 1e6 }));
    return [quality.grade, quality.ticks, quality.expected_ticks, nodes[0]!.first_sample, ...quality.reasons];
  };
  assert.deepEqual(of(20, 50), ['A', 4, 4, START + 20e6]);
  assert.deepEqual(of(55, 85), ['D', 0, 3, undefined, 'gaps']);
});

test('a process that began in a part and was sampled only after it is among the part’s, with what it is taken to have used', async () => {
  const folder = await recorded('processes');
  const late = { pid: '9', start: String(START / 1000 + 55_000), name: 'late', user: 'ada', state: 'R' };
  const rows = [60, 70].map((t) => ({ time: START + t * 1e6, ...late, user_ms: (t - 55) * 500 }));
  await appendRows(path.join(folder, 'node=c1'), processTable, rows);
  const reportedBetween = (from: number, to: number) => {
    const { processes, summary } = report(
      gather(openRecording(folder), { from: START + from * 1e6, to: START + to * 1e6 }),
    );
    const lateProcess = processes.find(({ pid }) => pid === '9');
    const all = processes.reduce((sum, { cpu_seconds }) => sum + cpu_seconds!, 0);
    assert.ok(near(all, summary.cpu_seconds!), `${all} of ${summary.cpu_seconds}`);
    return [lateProcess?.command, lateProcess?.user, lateProcess?.seconds, lateProcess?.cpu_seconds, summary.processes];
  };
  assert.deepEqual(reportedBetween(50.5, 57), ['late', 'ada', 2, 1, 2]);
  assert.deepEqual(reportedBetween(40.5, 54), [undefined, undefined, undefined, undefined, 1]);
  assert.deepEqual(reportedBetween(50.5, 62).slice(0, 1), ['late']);
});
