import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HOUR, pastJob } from '../../../test/made/policy-history.ts';
import { temporary } from '../../../test/make-recording.ts';
import type { Entry } from '../index/entry.ts';
import { changeIndex } from '../index/index-writer.ts';
import type { JobNodeSummary, JobSummary, NodeHourSummary } from '../tables/summary.ts';
import { constantEmissions } from './emissions.ts';
import { inOrder, isWanted, type JobFilter } from './filter.ts';
import { type History, openHistory } from './history.ts';

const at = (text: string): number => Date.parse(text) * 1000;

/** A job of so many CPUs that ran so many hours. */
const job = (id: string, start: string, hours: number, cpus: number, more: Partial<JobSummary> = {}): JobSummary =>
  pastJob(id, at(start) + hours * HOUR, hours, cpus, {
    cpu_use: 0.5,
    energy_joules: 3.6e6 * hours,
    recording: `job=${id}`,
    ...more,
  });

async function historyOf(
  jobs: readonly JobSummary[],
  more: { job_nodes?: JobNodeSummary[]; node_hours?: NodeHourSummary[] } = {},
): Promise<History> {
  const archive = temporary();
  const entries = jobs.map(
    (row): Entry => ({
      id: row.recording!,
      stamp: '',
      summaries: {
        jobs: [row],
        job_nodes: (more.job_nodes ?? []).filter((one) => one.job === row.job),
        node_hours: (more.node_hours ?? []).filter(({ recording }) => recording === row.recording),
        findings: [],
      },
    }),
  );
  await changeIndex(archive, (index) => index.change(entries));
  return openHistory({ archive });
}

const JOBS = [
  job('1', '2026-03-01T22:00:00Z', 4, 8, { name: 'a_b', gpus: 2, gpu_hours: 8, tags: '{"case":"x y"}' }),
  job('2', '2026-03-02T10:30:00Z', 1, 4, { user: 'bob', account: 'p1', node_list: 'c2,c10', cpu_use: 1 }),
  job('3_7', '2026-03-03T00:00:00Z', 2, 2, { array: '3', state: 'failed', findings: 'cpu-underused,node-idle' }),
  job('4', '2026-03-04T00:00:00Z', 2, 2, {
    user: "o'neil",
    name: 'a%b',
    submit_time: at('2026-03-03T22:00:00Z'),
    wait_seconds: 7200,
  }),
];

const FILTERS: [JobFilter, string[]][] = [
  [{}, ['1', '2', '3_7', '4']],
  [{ users: ['ada'] }, ['1', '3_7']],
  [{ users: ["o'*", 'b?b'] }, ['2', '4']],
  [{ names: ['a_b'] }, ['1']],
  [{ names: ['a%*'] }, ['4']],
  [{ accounts: ['p1'] }, ['2']],
  [{ jobs: ['3'] }, ['3_7']],
  [{ nodes: ['c1'] }, ['1', '3_7', '4']],
  [{ nodes: ['c1?'] }, ['2']],
  [{ findings: ['node-*'] }, ['3_7']],
  [{ tags: { case: 'x y' } }, ['1']],
  [{ gpu: false }, ['2', '3_7', '4']],
  [{ ranges: { gpus: { min: 1 } } }, ['1']],
  [{ ranges: { cpu_use: { min: 0.6 }, core_hours: { max: 4 } } }, ['2']],
  [{ not: { users: ['ada'], jobs: ['4'] } }, ['2']],
  [{ from: at('2026-03-02T02:00:00Z'), to: at('2026-03-02T11:30:00Z') }, ['1']],
  [{ order: { by: 'core_hours', descending: true }, limit: 2 }, ['1', '2']],
  [{ order: { by: 'gpu_hours' } }, ['1', '2', '3_7', '4']],
];

test('a filter means the same jobs in SQL and in memory', async () => {
  const history = await historyOf(JOBS);
  for (const [filter, wanted] of FILTERS) {
    const asked = (await history.selectJobs(filter)).map((row) => row.job);
    const kept = JOBS.filter((row) => isWanted(row, filter));
    assert.deepEqual(asked, wanted, JSON.stringify(filter));
    assert.deepEqual(
      inOrder(kept, filter).map((row) => row.job),
      wanted,
      JSON.stringify(filter),
    );
  }
  assert.deepEqual(await history.selectJobs({ jobs: ['1'] }), [JOBS[0]], 'the row is as it was filed');
  await history.close();
});

test('what a job used is spread over the hours in which it ran, and only what lies in the period counts', async () => {
  const history = await historyOf(JOBS);
  const usage = (by: 'hour' | 'day' | 'user' | 'month', from: string, to: string, zone = 'UTC') =>
    history.usage({ by, metric: 'core-hours', from: at(from), to: at(to), zone });
  const days = await usage('day', '2026-03-01T00:00:00Z', '2026-03-05T00:00:00Z');
  assert.deepEqual(
    days.rows.map(({ group, value }) => [group, value]),
    [
      ['2026-03-01', 16],
      ['2026-03-02', 20],
      ['2026-03-03', 4],
      ['2026-03-04', 4],
    ],
  );
  // two periods that meet have together what both have
  const usageAnswers = [
    await usage('user', '2026-03-01T00:00:00Z', '2026-03-01T23:30:00Z'),
    await usage('user', '2026-03-01T23:30:00Z', '2026-03-05T00:00:00Z'),
  ];
  assert.equal(usageAnswers[0]!.total.value, 12);
  assert.equal(usageAnswers[0]!.total.value! + usageAnswers[1]!.total.value!, 44);
  // in Kolkata, half an hour off, the job of 10:30 UTC is the hour from 16 to 17
  const kolkata = await usage('hour', '2026-03-02T06:00:00Z', '2026-03-02T20:00:00Z', 'Asia/Kolkata');
  assert.deepEqual(
    kolkata.rows.filter(({ value }) => value !== undefined).map(({ group, value }) => [group, value]),
    [['16', 4]],
  );
  await history.close();
});

test('clocks that change: the hour from 2 to 3 has two hours in autumn, and none in spring', async () => {
  const history = await historyOf([job('1', '2026-10-24T22:00:00Z', 24, 1), job('2', '2026-03-28T23:00:00Z', 23, 1)]);
  const ask = (from: string, to: string) =>
    history.usage({ by: 'hour', metric: 'core-hours', from: at(from), to: at(to), zone: 'Europe/Oslo' });
  const autumn = new Map(
    (await ask('2026-10-24T22:00:00Z', '2026-10-25T23:00:00Z')).rows.map((row) => [row.group, row]),
  );
  assert.equal(autumn.get('02')!.value, 2);
  assert.equal(autumn.get('02')!.hours, 2);
  assert.equal(autumn.get('03')!.value, 1);
  const spring = new Map(
    (await ask('2026-03-28T23:00:00Z', '2026-03-29T22:00:00Z')).rows.map((row) => [row.group, row]),
  );
  assert.equal(spring.has('02'), false);
  assert.equal(spring.size, 23);
  await history.close();
});

test('means are weighed, waits are counted when jobs were submitted, energy becomes CO2 by the hour', async () => {
  const history = await historyOf(JOBS);
  const period = { from: at('2026-03-01T00:00:00Z'), to: at('2026-03-05T00:00:00Z'), zone: 'UTC' };
  const use = await history.usage({ by: 'user', metric: 'cpu-use', ...period });
  assert.equal(use.total.value, (32 * 0.5 + 4 * 1 + 8 * 0.5) / 44);
  const wait = await history.usage({ by: 'hour', metric: 'wait', ...period });
  assert.deepEqual(
    wait.rows.filter(({ value }) => value !== undefined).map(({ group, value }) => [group, value]),
    [['22', 7200]],
  );
  const flat = await history.usage({ by: 'user', metric: 'CO2', ...period, emissions: constantEmissions(500) });
  assert.equal(flat.total.value, 9 * 0.5);
  // only the hour from 23 to 24 emits
  const hourly = new Map([[at('2026-03-01T23:00:00Z') / HOUR, 1000]]);
  const emissions = { factor: 0, hourly, at: (moment: number) => hourly.get(Math.floor(moment / HOUR)) ?? 0 };
  const byUser = await history.usage({ by: 'user', metric: 'CO2', ...period, emissions });
  const byDay = await history.usage({ by: 'day', metric: 'CO2', ...period, emissions });
  assert.equal(byUser.total.value, 1);
  assert.equal(byDay.total.value, 1);
  await history.close();
});

function hour(node: string, start: string, recording: string, more: Partial<NodeHourSummary>): NodeHourSummary {
  const time = Math.floor(at(start) / HOUR) * HOUR;
  return {
    time,
    cluster: 'k',
    node,
    first_time: at(start),
    last_time: time + HOUR,
    seconds: (time + HOUR - at(start)) / 1e6,
    recording,
    ...more,
  };
}

test('two jobs on a node tell of the same hour, which counts once', async () => {
  const node_hours = [
    hour('c1', '2026-03-02T10:00:00Z', 'job=1', { cpus: 8, cpu_use: 0.5, energy_joules: 1000 }),
    hour('c1', '2026-03-02T10:30:00Z', 'job=2', { cpus: 8, cpu_use: 0.9, energy_joules: 800 }),
  ];
  const history = await historyOf([job('1', '2026-03-02T10:00:00Z', 1, 8), job('2', '2026-03-02T10:30:00Z', 0.5, 8)], {
    node_hours,
  });
  const [row, ...rest] = await history.load({
    from: at('2026-03-02T00:00:00Z'),
    to: at('2026-03-03T00:00:00Z'),
    every: 'hour',
    zone: 'UTC',
  });
  assert.deepEqual(rest, []);
  assert.equal(row!.seconds, 3600);
  assert.equal(row!.energy_joules, 1000);
  assert.equal(row!.cpu_use, 0.5);
  assert.equal(row!.time, at('2026-03-02T10:00:00Z'));
  await history.close();
});

test('a job hogs a node only where others needed it', async () => {
  const on = (id: string, cpus: number, busy: number, node: string): JobNodeSummary => ({
    time: at('2026-03-02T10:00:00Z'),
    end_time: at('2026-03-02T11:00:00Z'),
    job: id,
    cluster: 'k',
    user: 'ada',
    node,
    cpus,
    node_cpus: 16,
    cpu_seconds: busy * 3600,
    recorded_seconds: 3600,
    recording: `job=${id}`,
  });
  const jobs = [
    job('full', '2026-03-02T10:00:00Z', 1, 4, { user: 'greedy' }),
    job('idle', '2026-03-02T10:00:00Z', 1, 4, { user: 'lonely' }),
    job('alone', '2026-03-02T10:00:00Z', 1, 16, { user: 'whole' }),
    job('fair', '2026-03-02T10:00:00Z', 1, 4, { user: 'fair' }),
  ];
  const history = await historyOf(jobs, {
    job_nodes: [on('full', 4, 10, 'c1'), on('fair', 4, 4, 'c1'), on('idle', 1, 3, 'c2'), on('alone', 16, 16, 'c3')],
    node_hours: [
      hour('c1', '2026-03-02T10:00:00Z', 'job=full', { cpus: 16, cpu_use: 0.95, load_mean: 20 }),
      hour('c2', '2026-03-02T10:00:00Z', 'job=idle', { cpus: 16, cpu_use: 0.2, load_mean: 3 }),
      hour('c3', '2026-03-02T10:00:00Z', 'job=alone', { cpus: 16, cpu_use: 1, load_mean: 17 }),
    ],
  });
  const hogs = await history.hogs({ by: 'user', from: at('2026-03-02T00:00:00Z'), to: at('2026-03-03T00:00:00Z') });
  assert.deepEqual(
    hogs.map(({ group, core_hours_hogged, contended_hours }) => [
      group,
      Number(core_hours_hogged.toFixed(3)),
      contended_hours,
    ]),
    [['greedy', 5.8, 1]],
  );
  await history.close();
});

test('a node without samples for longer than the gap was silent', async () => {
  const node_hours = ['10', '11', '14'].map((h) =>
    hour('c1', `2026-03-02T${h}:00:00Z`, 'job=1', { cpus: 8, gpus: 4, gpus_failed: h === '14' ? 1 : 0 }),
  );
  const history = await historyOf([job('1', '2026-03-02T10:00:00Z', 5, 8)], { node_hours });
  const spans = await history.uptime({ from: at('2026-03-02T10:00:00Z'), to: at('2026-03-02T15:00:00Z'), gap: 600 });
  assert.deepEqual(
    spans.map(({ what, state, start, end }) => [
      what,
      state,
      (start - at('2026-03-02T00:00:00Z')) / HOUR,
      (end - at('2026-03-02T00:00:00Z')) / HOUR,
    ]),
    [
      ['node', 'up', 10, 12],
      ['node', 'silent', 12, 14],
      ['node', 'up', 14, 15],
      ['GPUs', 'failed', 14, 15],
    ],
  );
  await history.close();
});

test('GPUs that failed twice, with an hour between in which they answered, failed twice', async () => {
  const failed = { '10': 1, '11': 0, '12': 1, '13': 1, '14': 2, '16': 2 } as const;
  const hours = Object.entries(failed).map(([h, gpus_failed]) =>
    hour('c1', `2026-03-02T${h}:00:00Z`, 'job=1', { cpus: 8, gpus: 4, gpus_failed }),
  );
  // another job on the same node has no GPU, and says nothing about them
  const other = hour('c1', '2026-03-02T12:00:00Z', 'job=1', { cpus: 8 });
  const history = await historyOf([job('1', '2026-03-02T10:00:00Z', 7, 8)], { node_hours: [...hours, other] });
  const midnight = at('2026-03-02T00:00:00Z');
  const spans = await history.uptime({ from: midnight + 10.5 * HOUR, to: midnight + 17 * HOUR, gap: 600 });
  assert.deepEqual(
    spans
      .filter(({ what }) => what === 'GPUs')
      .map(({ start, end, failed, gpus }) => [(start - midnight) / HOUR, (end - midnight) / HOUR, failed, gpus]),
    [
      [10.5, 11, 1, 4],
      [12, 14, 1, 4],
      [14, 15, 2, 4],
      [16, 17, 2, 4],
    ],
  );
  await history.close();
});

test('waste is of jobs that were measured, and says how much was not', async () => {
  const { core_hours_wasted: _, cpu_use: __, ...unmeasured } = job('9', '2026-03-02T00:00:00Z', 1, 10);
  const history = await historyOf([...JOBS, unmeasured]);
  const [ada] = await history.waste('user', { from: at('2026-03-01T00:00:00Z'), users: ['ada'] });
  assert.deepEqual(ada, {
    group: 'ada',
    jobs: 3,
    core_hours: 46,
    core_hours_unmeasured: 10,
    core_hours_wasted: 18,
    gpu_hours: 8,
    finding: 'cpu-underused',
  });
  await history.close();
});

test('an empty period has no rows, and an empty index has columns', async () => {
  const history = await historyOf(JOBS);
  const usage = await history.usage({
    by: 'user',
    metric: 'core-hours',
    from: at('2027-01-01T00:00:00Z'),
    to: at('2027-02-01T00:00:00Z'),
  });
  assert.deepEqual([usage.rows, usage.total], [[], { jobs: 0 }]);
  await assert.rejects(history.usage({ by: 'user', metric: 'core-hours', from: 2, to: 1 }), /ends before it begins/);
  await history.close();
});
