import assert from 'node:assert/strict';
import { test } from 'node:test';
import { finding, outcome } from '../../../test/made/findings.ts';
import { type Told, testJob, testSet } from '../../../test/made/processes.ts';
import { agent, cgroup, job, material, node, span } from '../../../test/made/report-jobs.ts';
import type { Material } from '../../query/material.ts';
import type { Job } from '../../recording/folder/job.ts';

process.env.TZ = 'UTC';

interface GivenRank extends Partial<Told> {
  /** Seconds. */
  wait?: number;
  /** MiB. */
  memory?: number;
}

/** A hundred seconds on nodes with four CPUs each, with ranks that mpirun started on the first one, and so on. */
function ranks(given: readonly GivenRank[], changes: Partial<Job> = {}, more: Partial<Told> = {}): Material {
  const sampledSpan = span(100);
  const names = [...new Set(given.map(({ node: name = 'c1' }) => name))];
  const recordedProcesses = given.map(({ wait = 0, memory = 100, ...one }, i): Told => {
    const cpu = one.cpu ?? 90;
    return {
      ...{ pid: 10 + i, ppid: 2, from: 1, to: 99, cpu, exename: 'solver', exitcode: 0 },
      ...{ rank: String(i), ranks: given.length, world: '17', allowed_cpus: '0-3' },
      ...more,
      ...one,
      metrics: { usertime: cpu * 1e6, systemtime: 0, time_waiting: wait * 1e9, rssmax: memory * 1024, ...one.metrics },
    };
  });
  const launcher: Told = { pid: 2, ppid: 1, from: 0, to: 100, cpu: 0.1, exename: 'mpirun', exitcode: 0 };
  return material(
    job(100, { nodes: names, asked: { nodes: names.length, cpus: 4 * names.length }, ...changes }),
    names.map((name) => node(name, agent(name, sampledSpan), [cgroup(sampledSpan, 3, 2 ** 30)])),
    { processes: testSet([launcher, ...recordedProcesses], [testJob({ nodes: names })]) },
  );
}

const many = (n: number, of: (i: number) => GivenRank): GivenRank[] => Array.from({ length: n }, (_, i) => of(i));
const fine = (given: Material, id: string): void => assert.equal(outcome(given, id)?.outcome, 'fine');

test('ranks with unequal work: the slowest and its node are named', () => {
  const uneven = ranks(many(4, (i) => ({ cpu: i === 2 ? 90 : 30, node: i < 2 ? 'c1' : 'c2' })));
  const { severity, text, evidence, confidence } = finding(uneven, 'rank-imbalance');
  assert.deepEqual([severity, confidence], ['warning', 'high']);
  assert.equal(text, 'The 4 ranks of solver had unequal work: rank 2 on c2 used 2 times the mean CPU time');
  assert.equal(evidence[0]!.text, 'mean 45.0 s, most 1 min 30 s: a rank waited for 50 % of that, on average');
  assert.deepEqual([evidence[0]!.value, evidence[0]!.threshold], [0.5, 0.2]);
  assert.equal(evidence[1]!.text, 'rank 2 (solver) on c2: 1 min 30 s CPU time');
  assert.equal(finding(ranks(many(4, (i) => ({ cpu: i === 2 ? 90 : 60 }))), 'rank-imbalance').severity, 'advice');
  fine(ranks(many(4, (i) => ({ cpu: 90 - 5 * i }))), 'rank-imbalance');
  // next to nothing is unequal, too
  fine(ranks(many(4, (i) => ({ cpu: i === 2 ? 1.5 : 0.1 }))), 'rank-imbalance');
  fine(ranks(many(4, (i) => ({ cpu: i === 2 ? 9 : 1 }))), 'rank-imbalance');
  // of one that was killed nobody knows all that it used
  fine(ranks(many(4, (i) => ({ cpu: i === 2 ? 10 : 90, ...(i === 2 ? { source: 'start' } : {}) }))), 'rank-imbalance');
});

test('ranks that wait in a loop are not measurable; where MPI yields, user CPU time tells', () => {
  const spinning = outcome(ranks(many(4, () => ({ cpu: 97 }))), 'rank-imbalance')!;
  assert.equal(spinning.outcome, 'unmeasurable');
  assert.match(spinning.why!, /^the 4 ranks of solver were busy all of the time: MPI that waits in a loop/);
  const yielding = (more: object) =>
    ranks(
      many(4, (i) => ({
        cpu: 97,
        metrics: { usertime: i === 2 ? 90e6 : 30e6, systemtime: i === 2 ? 7e6 : 67e6, ...more },
      })),
    );
  const { text, evidence } = finding(yielding({}), 'rank-imbalance');
  assert.equal(text, 'The 4 ranks of solver had unequal work: rank 2 on c1 used 2 times the mean user CPU time');
  assert.equal(
    evidence[1]!.text,
    'rank 2 (solver) on c1: 1 min 30 s user, 7.0 s system CPU time: the MPI library yields while it waits',
  );
  // system time that reading explains is work
  assert.equal(outcome(yielding({ rchar: 1e9 }), 'rank-imbalance')?.outcome, 'unmeasurable');
});

test('ranks without work are named as such, and one that has most of the memory', () => {
  const idle = ranks(many(8, (i) => ({ cpu: i === 0 ? 1 : i === 5 ? 20 : 90 })));
  assert.equal(
    finding(idle, 'rank-imbalance').text,
    '2 of 8 ranks of solver did less than half of the others’ work: rank 0 on c1 and rank 5 on c1',
  );
  const large = finding(ranks(many(4, (i) => ({ memory: i === 0 ? 4000 : 500 }))), 'rank-imbalance');
  assert.equal(large.severity, 'info');
  assert.equal(large.text, 'Of the 4 ranks of solver, rank 0 on c1 needed 8 times the median memory');
  assert.equal(large.evidence[0]!.text, 'rank 0 (solver) on c1: 3.9 GiB, the median rank 500 MiB');
  const two = finding(ranks(many(2, (i) => ({ memory: i === 0 ? 1300 : 65 }))), 'rank-imbalance');
  assert.equal(two.text, 'Of the 2 ranks of solver, rank 0 on c1 needed 20 times the median memory');
  fine(ranks(many(4, (i) => ({ memory: i === 0 ? 400 : 50 }))), 'rank-imbalance');
});

test('more ranks than CPUs: what they wanted, and how long they waited', () => {
  const crowded = ranks(many(8, () => ({ cpu: 49, wait: 49 })));
  const { severity, text, evidence } = finding(crowded, 'rank-oversubscribed');
  assert.equal(severity, 'warning');
  assert.equal(text, 'Too many ranks: the 8 ranks of solver ran on 4 CPUs of c1');
  assert.deepEqual(
    evidence.map((each) => each.text),
    [
      'c1: 8 ranks wanted 8 CPUs, the job has 4 there',
      'c1: they waited for a CPU 50 % of the time in which they were ready to run',
      'c1: rank 0 may run on CPUs 0-3',
    ],
  );
  const threaded = ranks(many(4, () => ({ cpu: 98, wait: 294 })));
  assert.match(finding(threaded, 'rank-oversubscribed').text, /the 4 ranks of solver × 4 busy threads ran on 4 CPUs/);
  // others took the CPUs: that is no fault of the ranks
  fine(ranks(many(4, () => ({ cpu: 30, wait: 68 }))), 'rank-oversubscribed');
  fine(ranks(many(8, () => ({ cpu: 40 }))), 'rank-oversubscribed');
  // there are four on each node
  fine(ranks(many(8, (i) => ({ cpu: 90, wait: 5, node: i < 4 ? 'c1' : 'c2' }))), 'rank-oversubscribed');
});

test('ranks that are bound to the same CPU while the job has more', () => {
  const bound = ranks(many(4, () => ({ cpu: 24, wait: 74, allowed_cpus: '0' })));
  const { severity, text, evidence, confidence } = finding(bound, 'rank-binding');
  assert.deepEqual([severity, confidence], ['warning', 'high']);
  assert.equal(text, 'The 4 ranks of solver are bound to CPU 0 of c1, where the job has 4 CPUs');
  assert.equal(evidence[0]!.text, 'c1: ranks 0, 1, 2 and 3 may run on CPUs 0 only, and wanted 4 CPUs');
  assert.equal(evidence[0]!.threshold, 1.25);
  fine(bound, 'rank-oversubscribed');
  const pairs = ranks(many(4, (i) => ({ cpu: 48, wait: 50, allowed_cpus: i < 2 ? '0' : '1-2' })));
  assert.match(finding(pairs, 'rank-binding').text, /^2 of the 4 ranks of solver are bound to CPU 0 of c1/);
  fine(ranks(many(4, (i) => ({ cpu: 95, wait: 1, allowed_cpus: String(i) }))), 'rank-binding');
  assert.equal(outcome(ranks(many(4, () => ({ allowed_cpus: '' }))), 'rank-binding')?.outcome, 'skipped');
});

test('the rank that died first is named, not those that its launcher ended', () => {
  const failed = { state: 'failed', exit_code: 139 } as const;
  const died = ranks(
    many(4, (i) =>
      i === 2
        ? { to: 41, exitsignal: 11, exitcode: Number.NaN, ended: 'signal', node: 'c2' }
        : { to: 41.1, exitsignal: 15, exitcode: Number.NaN, ended: 'signal' },
    ),
    failed,
  );
  const { severity, text, evidence, confidence } = finding(died, 'rank-died');
  assert.deepEqual([severity, confidence], ['critical', 'high']);
  assert.equal(
    text,
    'Of the 4 ranks of solver, rank 2 on c2 was ended by SIGSEGV after 40.0 s; then 3 other ranks ended, too',
  );
  assert.equal(evidence[0]!.text, 'rank 2 (solver) on c2, pid 12: was ended by SIGSEGV at 2026-11-15 20:49:53 UTC');
  assert.equal(evidence[0]!.value, 11);
  const then = finding(died, 'job-failed');
  assert.deepEqual([then.severity, then.text], ['info', 'The job ended by SIGSEGV after a rank had died']);
  const aborted = ranks(many(2, (i) => ({ exitcode: i === 1 ? 3 : 0, to: 50 })));
  assert.equal(finding(aborted, 'rank-died').severity, 'warning', 'the script went on');
  assert.match(finding(aborted, 'rank-died').text, /rank 1 on c1 ended with exit code 3 after 49.0 s$/);
  const running = ranks(
    many(2, (i) => ({ exitcode: i === 1 ? 3 : 0, to: 50 })),
    { state: 'running' },
  );
  assert.equal(finding(running, 'rank-died').severity, 'warning', 'the card of tacho stop says so, too');
  const all = ranks(
    many(3, () => ({ exitcode: 1 })),
    failed,
  );
  assert.equal(
    finding(all, 'rank-died').text,
    'All of the 3 ranks of solver that were recorded ended with exit code 1',
  );
  fine(ranks(many(4, () => ({}))), 'rank-died');
});

test('a rank that left no record died only where something failed; which was first may be unknown', () => {
  const silent = (i: number, to: number): GivenRank =>
    i === 1 ? { source: 'start', to, exitcode: Number.NaN } : { source: 'start', to: 60, exitcode: Number.NaN };
  const failed = { state: 'failed', exit_code: 1 } as const;
  const early = finding(
    ranks(
      many(4, (i) => silent(i, 30)),
      failed,
    ),
    'rank-died',
  );
  assert.match(early.text, /rank 1 on c1 was killed: it left no record of its end after 29.0 s; then 3 other ranks/);
  assert.equal(early.confidence, 'medium');
  const together = finding(
    ranks(
      many(4, (i) => silent(i, 60)),
      failed,
    ),
    'rank-died',
  );
  assert.equal(together.text, '4 of the 4 ranks of solver were killed');
  fine(ranks(many(4, (i) => silent(i, 30))), 'rank-died');
  assert.equal(
    outcome(
      ranks(
        many(4, (i) => silent(i, 30)),
        { state: 'timeout' },
      ),
      'rank-died',
    )?.outcome,
    'skipped',
  );
});

test('jobs without ranks are not judged; one of mpirun without records cannot be', () => {
  const one = ranks([{}, {}], {}, { ranks: 1 });
  assert.deepEqual(outcome(one, 'rank-imbalance')?.why, 'nothing started several ranks');
  const { processes: _, ...sampled } = ranks([{}, {}], { command: ['/usr/bin/mpirun', '-n', '2', './solver'] });
  assert.equal(outcome(sampled, 'rank-imbalance')?.outcome, 'unmeasurable');
});
