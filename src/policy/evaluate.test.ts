import assert from 'node:assert/strict';
import { test } from 'node:test';
import { archiveOf, HOUR, pastJob } from '../../test/made/policy-history.ts';
import { openHistory } from '../history/ask/history.ts';
import type { JobSummary, NodeHourSummary } from '../history/tables/summary.ts';
import { parseCondition } from './condition.ts';
import { judge } from './evaluate.ts';
import type { Policy } from './policy.ts';
import { replay } from './replay.ts';
import { judgeNow } from './select.ts';

const NOW = Date.parse('2026-03-20T00:00:00Z') * 1000;
const DAY = 24 * HOUR;

function policy(when: string[], more: Partial<Policy> & { totals?: string[]; exempt?: string[] } = {}): Policy {
  const { totals = [], exempt = [], ...rest } = more;
  return {
    name: 'p',
    origin: 'tacho.toml:1',
    enabled: true,
    help: 'cores are idle',
    per: totals.length > 0 ? 'user' : 'job',
    jobs: 'ended',
    window_seconds: 7 * 86_400,
    period_seconds: 7 * 86_400,
    when: when.map((text) => parseCondition(text)),
    total: totals.map((text) => parseCondition(text, true)),
    unless: exempt.map((text) => parseCondition(text)),
    scope: {},
    actions: ['list'],
    to: 'user',
    ...rest,
  };
}

test('per job: what holds, what is exempt, what was not measured', () => {
  const { cpu_use: _, ...unmeasured } = pastJob('3', NOW, 10, 8);
  const jobs = [
    pastJob('1', NOW, 10, 8),
    pastJob('2', NOW, 10, 8, { cpu_use: 0.9 }),
    unmeasured as JobSummary,
    pastJob('4', NOW, 10, 8, { user: 'bob', name: 'bash' }),
    pastJob('5', NOW, 20, 8),
    pastJob('6', NOW, 10, 8, { user: 'cleo', cpu_use: 0 }),
  ];
  const judged = judge(policy(['cpu_use < 25%', 'wall_seconds > 2h'], { exempt: ['interactive = yes'] }), jobs);
  assert.deepEqual(
    judged.cases.map(({ user, jobs, totals }) => [user, jobs.map(({ summary }) => summary.job), totals.core_hours]),
    [
      ['ada', ['5', '1'], 240],
      ['cleo', ['6'], 80],
    ],
  );
  assert.deepEqual(judged.cases[0]!.jobs[0]!.figures, { cpu_use: 0.1, wall_seconds: 72_000 });
  assert.deepEqual(judged.exempt, [{ job: '4', user: 'bob', why: 'interactive = yes' }]);
  assert.deepEqual(judged.unmeasured, [{ job: '3', user: 'ada', missing: ['cpu_use'] }]);
});

test('per user: uses are weighed, amounts added up, shares are of everybody', () => {
  const jobs = [
    pastJob('1', NOW, 1, 30, { cpu_use: 0 }),
    pastJob('2', NOW, 1, 30, { cpu_use: 0.4 }),
    pastJob('3', NOW, 1, 40, { user: 'bob', cpu_use: 0.9 }),
    pastJob('4', NOW, 1, 40, { user: 'cleo', cpu_use: 0.1 }),
  ];
  const judged = judge(policy([], { totals: ['cpu_use < 25%', 'core_hours >= 50'] }), jobs);
  assert.deepEqual(
    judged.cases.map(({ user }) => user),
    ['ada'],
  );
  const { cpu_use, core_hours, jobs: number, core_hours_share } = judged.cases[0]!.totals;
  assert.deepEqual([cpu_use, core_hours, number], [0.2, 60, 2]);
  assert.ok(Math.abs(core_hours_share! - 60 / 140) < 1e-12);
  const two = judge(policy([], { totals: ['jobs >= 1'], most: 2 }), jobs);
  assert.deepEqual(
    two.cases.map(({ user }) => user),
    ['ada', 'cleo'],
  );
});

const nodeHour = (node: string, time: number, more: Partial<NodeHourSummary>): NodeHourSummary => ({
  time,
  cluster: 'k',
  node,
  first_time: time,
  last_time: time + HOUR,
  seconds: 3600,
  ticks: 3600,
  cpus: 64,
  recording: 'job=1',
  ...more,
});

test('around a job: how busy its nodes were, and who waited meanwhile', async () => {
  const start = NOW - 10 * HOUR;
  const cpuOnly = (id: string, node: string, cpus: number): JobSummary =>
    pastJob(id, start + HOUR, 1, cpus, { node_list: node, partition: 'gpu', user: 'bob' });
  const waiting = pastJob('9', NOW - HOUR, 8, 4, {
    gpus: 2,
    asked_gpus: 2,
    partition: 'gpu',
    user: 'cleo',
    wait_seconds: 3600,
  });
  waiting.submit_time = waiting.time - 3600e6;
  const jobs = [cpuOnly('1', 'g1', 60), cpuOnly('2', 'g2', 8), cpuOnly('3', 'c1', 60), waiting];
  const archive = await archiveOf(jobs, {
    node_hours: [
      nodeHour('g1', start, { gpus: 4, cpu_use: 0.1 }),
      nodeHour('g2', start, { gpus: 4, cpu_use: 0.1 }),
      nodeHour('c1', start, { cpu_use: 0.1 }),
    ],
    job_nodes: jobs.map(({ job, time, end_time, cpus, node_list }) => ({
      time,
      job,
      cluster: 'k',
      user: 'bob',
      node: node_list!,
      end_time: end_time!,
      cpus: cpus!,
    })),
  });
  const history = await openHistory({ archive });
  const judgedPolicies = await judgeNow(
    history,
    [
      policy(['node_gpus >= 1', 'gpu_jobs_waiting >= 1'], { exempt: ['node_busy < 50%'], scope: { gpu: false } }),
      policy(['node_share >= 90%']),
    ],
    NOW,
  );
  await history.close();
  assert.deepEqual(
    judgedPolicies[0]!.judged.cases.map(({ user, jobs }) => [user, jobs.map(({ summary }) => summary.job)]),
    [['bob', ['1']]],
  );
  assert.deepEqual(judgedPolicies[0]!.judged.exempt, [{ job: '2', user: 'bob', why: 'node_busy < 50%' }]);
  assert.deepEqual(
    judgedPolicies[1]!.judged.cases.flatMap(({ jobs }) => jobs.map(({ summary }) => summary.job)).sort(),
    ['1', '3'],
  );
  // nothing was recorded of the node of the job that waited
  assert.deepEqual(
    judgedPolicies[1]!.judged.unmeasured.map(({ job, missing }) => [job, missing]),
    [['9', ['node_share']]],
  );
});

test('a GPU that did nothing, or was no longer used: for how long', async () => {
  const gpu = (id: string, more: Partial<JobSummary>): JobSummary =>
    pastJob(id, NOW - HOUR, 4, 4, { gpus: 2, ...more });
  const jobs = [
    gpu('1', { gpus_unused: 1 }),
    gpu('2', { gpus_unused: 0, findings: 'gpu-idle-after-use' }),
    gpu('3', { gpus_unused: 0 }),
    gpu('4', {}),
  ];
  const archive = await archiveOf(jobs, {
    findings: [
      {
        time: jobs[1]!.time,
        job: '2',
        cluster: 'k',
        user: 'ada',
        finding: 'gpu-idle-after-use',
        end_time: NOW - HOUR,
        value: 0.5,
      },
    ],
  });
  const history = await openHistory({ archive });
  const [judgedPolicy] = await judgeNow(history, [policy(['gpu_idle_seconds >= 60min', 'wall_seconds > 2h'])], NOW);
  await history.close();
  assert.deepEqual(
    judgedPolicy!.judged.cases[0]!.jobs.map(({ summary, figures }) => [summary.job, figures.gpu_idle_seconds]).sort(),
    [
      ['1', 14_400],
      ['2', 7200],
    ],
  );
  assert.deepEqual(
    judgedPolicy!.judged.unmeasured.map(({ job }) => job),
    ['4'],
  );
});

test('running jobs: only those whose row is fresh', async () => {
  const running = (id: string, minutes: number): JobSummary => {
    const { end_time: _, ...row } = pastJob(id, NOW - minutes * 60e6, 4, 8, { state: 'running' });
    return row;
  };
  const archive = await archiveOf([running('1', 2), running('2', 600), pastJob('3', NOW - HOUR, 4, 8)]);
  const history = await openHistory({ archive });
  const ids = async (jobs: Policy['jobs']): Promise<string[]> => {
    const [judgedPolicy] = await judgeNow(history, [policy(['cpu_use < 25%'], { jobs })], NOW);
    return judgedPolicy!.judged.cases.flatMap((one) => one.jobs.map(({ summary }) => summary.job)).sort();
  };
  assert.deepEqual([await ids('running'), await ids('ended'), await ids('all')], [['1'], ['3'], ['1', '3']]);
  await history.close();
});

test('replay: once per user and period, each job once, nothing forgotten', async () => {
  const from = NOW - 28 * DAY;
  const jobs = [
    pastJob('1', from + DAY, 10, 10),
    pastJob('2', from + 2 * DAY, 10, 10),
    pastJob('3', from + 3 * DAY, 10, 10, { user: 'bob' }),
    pastJob('4', from + 20.5 * DAY, 10, 10),
    pastJob('5', from - 3 * DAY, 10, 10, { user: 'cleo' }),
    pastJob('6', from + 4 * DAY, 10, 10, { user: 'dora', cpu_use: 0.99 }),
  ];
  const history = await openHistory({ archive: await archiveOf(jobs) });
  const replayed = await replay(history, policy(['cpu_use < 25%']), from, NOW);
  await history.close();
  const outcome = replayed.periods.map(({ messages }) =>
    messages.map(({ user, time, jobs: all }) => [user, (time - from) / DAY, all.map(({ summary }) => summary.job)]),
  );
  assert.deepEqual(outcome, [
    // a job ends at the end of a day: the run at that moment does not see it
    [
      ['cleo', 1, ['5']],
      ['ada', 2, ['1']],
      ['bob', 4, ['3']],
    ],
    [['ada', 9, ['2']]],
    [['ada', 21, ['4']]],
    [],
  ]);
  assert.deepEqual(
    [
      replayed.messages,
      replayed.users,
      replayed.jobs,
      replayed.core_hours,
      replayed.core_hours_wasted,
      replayed.looked_at,
    ],
    [5, 3, 5, 500, 450, 6],
  );
});
