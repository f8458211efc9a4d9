import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { reportCard } from '../../src/cli/report.ts';
import { gather } from '../../src/judge/facts/gather.ts';
import { report } from '../../src/judge/report.ts';
import { reportSchema } from '../../src/judge/report-schema.ts';
import { openRecording } from '../../src/recording/folder/open.ts';
import { exportRecordings } from '../../src/show/export/export.ts';
import { cgroupTable } from '../../src/sources/cgroup/table.ts';
import { marker } from '../../src/sources/own/marker.ts';
import { agentOf, appendRows, jobOf, type Row, START, temporary } from '../make-recording.ts';

/** A minute on two nodes: one CPU busy in the first half, three in the second; memory grows to 6 GiB on c1. */
async function recorded(): Promise<string> {
  const folder = path.join(temporary(), 'tacho-17');
  fs.mkdirSync(folder);
  const step = (id: string, from: number, to: number, nodes: string[]) => ({
    id,
    start: START + from * 1e6,
    end: START + to * 1e6,
    nodes,
  });
  const job = jobOf({
    nodes: ['c1', 'c2'],
    asked: { nodes: 2, cpus: 8, memory_bytes: 2 ** 34 },
    steps: [step('0', 0, 30, ['c1', 'c2']), step('1', 30, 60, ['c2']), step('2', 45, 45, ['c1'])],
  });
  fs.writeFileSync(path.join(folder, 'job.json'), JSON.stringify(job));
  for (const name of ['c1', 'c2']) {
    const nodePath = path.join(folder, `node=${name}`);
    const rows: Row[] = Array.from({ length: 61 }, (_, t) => ({
      time: START + t * 1e6,
      cgroup: '.',
      usage_us: (t <= 30 ? t : 30 + (t - 30) * 3) * 1e6,
      memory_current_bytes: name === 'c1' ? t * 1e8 : 1e8,
    }));
    await appendRows(nodePath, cgroupTable, rows);
    const scope = { members: 'cgroup', cgroup: '/job_17', cgroup_shared: false };
    fs.writeFileSync(
      path.join(nodePath, 'agent.json'),
      JSON.stringify(agentOf(name, [cgroupTable, marker.table], { scope, last_sample: START + 60e6 })),
    );
  }
  const mark = (second: number, action: string, name: string, value?: number): Row => ({
    time: START + second * 1e6,
    action,
    name,
    ...(value === undefined ? {} : { value }),
  });
  await appendRows(path.join(folder, 'node=c1'), marker.table, [
    mark(2, 'begin', 'warm up'),
    mark(12, 'end', 'warm up'),
    mark(40, 'begin', 'solve'),
    mark(41, 'fom', 'residual', 0.125),
    mark(50, 'end', 'solve'),
  ]);
  return folder;
}

test('a time in which the job did not run is wrong use, and the time in which it ran is told', async () => {
  const folder = await recorded();
  const to = { exit: 2, message: /nothing was recorded in the time asked for/, hint: /ran from 20.* to 20/ };
  await assert.rejects(reportCard([folder], { from: '2030-01-01' }), to);
  await assert.rejects(reportCard([folder], { to: '2001-01-01' }), to);
  const later = path.join(temporary(), 'tacho-18');
  fs.cpSync(folder, later, { recursive: true });
  const job = jobOf({ id: '18', start: START + 3600e6, end: START + 3660e6 });
  fs.writeFileSync(path.join(later, 'job.json'), JSON.stringify(job));
  const one = JSON.parse(await reportCard([folder, later], { to: `@${START / 1e6 + 60}`, format: 'json' }));
  assert.equal(one.job.id, '17');
});

test('the whole job, a step, a phase and a time', async () => {
  const recording = openRecording(await recorded());
  const whole = report(gather(recording));
  assert.equal(whole.summary.cpu_seconds, 240);
  assert.equal(whole.summary.cpu_utilization, 0.5);
  assert.equal(whole.summary.memory_peak_bytes, 6e9);
  assert.equal(whole.summary.memory_peak_node, 'c1');
  assert.deepEqual(
    whole.phases.map((p) => [p.name, p.seconds]),
    [
      ['warm up', 10],
      ['solve', 10],
    ],
  );
  assert.deepEqual(whole.figures, [{ name: 'residual', time: START + 41e6, value: 0.125 }]);

  const step = report(gather(recording, { step: '1' }));
  assert.deepEqual(
    step.nodes.map((n) => n.node),
    ['c2'],
  );
  assert.equal(step.summary.wall_seconds, 30);
  assert.equal(step.summary.cpu_seconds, 90);
  assert.equal(step.summary.cpu_utilization, 0.75);
  assert.equal(
    step.confined?.what,
    'step 1 (by the scheduler, in whole seconds, with all that the job did on its nodes meanwhile)',
  );

  const solve = report(gather(recording, { marker: 'solve' }));
  assert.equal(solve.summary.cpu_seconds, 60);
  assert.equal(solve.summary.memory_peak_bytes, 5e9);

  const partReport = report(gather(recording, { from: START + 10e6, to: START + 20e6 }));
  assert.equal(partReport.summary.cpu_seconds, 20);
  assert.equal(partReport.summary.wall_seconds, 10);
});

test('a time that has all of the job in it is no part: the card is that of the whole job', async () => {
  const recording = openRecording(await recorded());
  const { start, end } = recording.job;
  const whole = report(gather(recording, { now: end! }));
  for (const time of [{ from: start - 3600e6 }, { to: end! + 1 }, { from: start, to: end! }])
    assert.deepEqual(report(gather(recording, { ...time, now: end! })), whole);
  assert.notEqual(report(gather(recording, { to: end! - 1 })).confined, undefined);
});

test('a step shorter than a second is shown by the samples around it, and that is said', async () => {
  const folder = await recorded();
  const short = report(gather(openRecording(folder), { step: '2' }));
  assert.equal(short.summary.wall_seconds, 2);
  assert.equal(short.summary.cpu_seconds, 6);
  assert.equal(short.summary.memory_peak_bytes, 4.6e9);
  const card = (await reportCard([folder], { step: '2' })).replace(/\s+/g, ' ');
  assert.match(
    card,
    /Only step 2 \(too short to be sampled by itself: less than a second\), with the samples around it: 2\.0 s of the job\./,
  );
});

test('a repeated phase is its times without the gaps, in a report and in an export', async () => {
  const folder = await recorded();
  const mark = (second: number, action: string) => ({ time: START + second * 1e6, action, name: 'epoch' });
  await appendRows(path.join(folder, 'node=c2'), marker.table, [
    ...[mark(5, 'begin'), mark(10, 'end'), mark(40, 'begin'), mark(50, 'end')],
  ]);
  const recording = openRecording(folder);
  const epochs = report(gather(recording, { marker: 'epoch', phases: true }));
  assert.deepEqual(epochs.confined, { what: 'phase "epoch", 2 times', from: START + 5e6, to: START + 50e6 });
  assert.equal(epochs.summary.wall_seconds, 15);
  // on each of two nodes one CPU for 5 s, three for 10 s
  assert.equal(epochs.summary.cpu_seconds, 70);
  assert.equal(epochs.summary.cpu_utilization, 70 / 15 / 8);
  assert.equal(epochs.nodes[0]!.recorded_seconds, 15);
  assert.deepEqual(
    epochs.phases.map(({ name, seconds, whole_seconds, cpu_utilization }) => [
      name,
      seconds,
      whole_seconds,
      cpu_utilization,
    ]),
    [
      ['warm up', 5, 10, 0.25],
      ['epoch', 5, undefined, 0.25],
      ['solve', 10, undefined, 0.75],
      ['epoch', 10, undefined, 0.75],
    ],
  );
  const exported = temporary();
  await exportRecordings([recording], {
    ...{ format: 'csv', layout: 'long', folder: exported, tables: ['cgroup'], columns: ['usage_us'], epoch: true },
    marker: 'epoch',
  });
  const rows = fs.readFileSync(path.join(exported, 'cgroup.csv'), 'utf8').trim().split('\n').slice(1);
  assert.equal(rows.length, 2 * (6 + 11));
  const seconds = rows.map((row) => (Number(row.split(',')[0]) - START) / 1e6);
  assert.ok(seconds.every((second) => (second >= 5 && second <= 10) || (second >= 40 && second <= 50)));
});

test('what each phase used, when asked', async () => {
  const { phases } = report(gather(openRecording(await recorded()), { phases: true }));
  assert.deepEqual(
    phases.map((p) => p.cpu_utilization),
    [0.25, 0.75],
  );
});

test('a step or phase that is not there is named, with those that are', async () => {
  const recording = openRecording(await recorded());
  assert.throws(() => gather(recording, { step: '7' }), { exit: 2, hint: 'it has 0, 1 and 2' });
  assert.throws(() => gather(recording, { marker: 'slove' }), { exit: 2, hint: 'it has warm up and solve' });
});

test('the verb: formats, jobs, and what it cannot do', async () => {
  const folder = await recorded();
  const row = JSON.parse(await reportCard([folder], { format: 'json' }));
  reportSchema.parse(row);
  assert.equal(row.summary.core_hours, 0.133333333333333);
  assert.match(await reportCard([folder], { format: 'html' }), /^<!doctype html>/);
  assert.match(await reportCard([folder], { format: 'markdown' }), /^# 17 train: completed/);
  assert.match(await reportCard([path.dirname(folder)], { job: '17' }), /^17 train +COMPLETED/);
  await assert.rejects(reportCard([folder], { job: '18' }), { exit: 2, message: 'no recording of job 18 here' });
  await assert.rejects(reportCard([folder], { format: 'png' as 'html' }), { exit: 2 });
});
