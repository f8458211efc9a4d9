import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testJob, testSet } from '../../../test/made/processes.ts';
import { acrossJobs, operationsOf, tagKey, tagKeys } from './operations.ts';
import { metricTotals } from './totals.ts';

const set = testSet([
  { pid: 1, from: 0, to: 100, cpu: 1, threads: 1 },
  { pid: 2, from: 10, to: 20, cpu: 2, threads: 4, tags: 'op:build;seq:1' },
  { pid: 3, from: 15, to: 30, cpu: 3, threads: 1, tags: 'op:build;seq:1' },
  { pid: 4, from: 50, to: 60, cpu: 4, threads: 1, tags: 'op:build;seq:2' },
  { pid: 5, from: 5, to: 6, cpu: 10, threads: 1, tags: 'op:test;seq:2' },
  { pid: 6, from: 7, cpu: 0, tags: 'op:test;seq:2', source: 'start' },
]);

test('durations three ways, runs, threads and shares', () => {
  const [tested, build, rest] = operationsOf(set);
  assert.equal(build!.name, 'op:build');
  assert.equal(build!.processes, 3);
  assert.equal(build!.threads, 6);
  assert.equal(build!.cpu_time, 9e6);
  assert.equal(build!.duration_sum, 35e6);
  assert.equal(build!.duration, 30e6);
  assert.equal(build!.duration_span, 50e6);
  assert.equal(build!.runs.length, 2);
  assert.equal(build!.cpu_share, 9 / 20);
  assert.equal(build!.time_share, 0.3);
  assert.equal(tested!.name, 'op:test');
  assert.equal(tested!.duration, 1e6);
  assert.equal(tested!.endless, 1, 'a process without an end is in no duration');
  assert.equal(rest!.name, '');
  assert.deepEqual(rest!.members, [0]);
});

test('of a process that is older than the job, or outlives it, the part inside counts as a share', () => {
  const [, rest] = operationsOf(
    testSet([
      { pid: 1, from: -20, to: 130 },
      { pid: 2, from: 0, to: 1, tags: 'op:a' },
      { pid: 3, from: -30, to: -25 },
    ]),
  );
  assert.deepEqual([rest!.duration, rest!.time_share], [155e6, 1]);
  const running = testSet([{ pid: 2, from: 0, to: 1, tags: 'op:a' }], [testJob({ end: Number.NaN })]);
  assert.ok(Number.isNaN(operationsOf(running)[0]!.time_share));
});

test('by another tag, by a value, by two tags at once', () => {
  assert.deepEqual(
    operationsOf(set, { tags: ['seq'] }).map(({ name, processes }) => [name, processes]),
    [
      ['seq:2', 3],
      ['seq:1', 2],
      ['', 1],
    ],
  );
  assert.deepEqual(
    operationsOf(set, { tags: ['op:test', 'op:build;seq:2'] }).map(({ name, members }) => [name, members]),
    [
      ['op:test', [4, 5]],
      ['op:build;seq:2', [3]],
    ],
  );
  assert.deepEqual(operationsOf(set, { tags: ['op:none'] }), []);
  assert.deepEqual(operationsOf(set, { tags: ['none'] }), []);
  assert.throws(() => operationsOf(set, { tags: [':'] }), /is not a tag/);
});

test('jobs stay apart', () => {
  const jobs = [testJob(), testJob({ id: '18' })];
  const both = testSet(
    [
      { pid: 1, from: 0, to: 10, cpu: 1, tags: 'op:a' },
      { pid: 1, from: 0, to: 20, cpu: 3, tags: 'op:a', job: 1 },
    ],
    jobs,
  );
  assert.deepEqual(
    operationsOf(both).map(({ job, duration, cpu_share }) => [job, duration, cpu_share]),
    [
      [0, 10e6, 1],
      [1, 20e6, 1],
    ],
  );
});

test('a job none of whose processes bears the tag has a row of those without it, beside jobs that bear it', () => {
  const jobs = [testJob(), testJob({ id: '18' }), testJob({ id: '19' })];
  const mixed = testSet(
    [
      { pid: 1, from: 0, to: 10, cpu: 1, tags: 'op:a' },
      { pid: 2, from: 0, to: 20, cpu: 3, job: 1 },
      { pid: 3, from: 0, to: 30, cpu: 4, tags: 'stage:x', job: 2 },
    ],
    jobs,
  );
  assert.deepEqual(
    operationsOf(mixed).map(({ job, name, duration, cpu_time }) => [job, name, duration, cpu_time]),
    [
      [0, 'op:a', 10e6, 1e6],
      [1, '', 20e6, 3e6],
      [2, '', 30e6, 4e6],
    ],
  );
  assert.deepEqual(operationsOf(mixed, { members: [1, 2] }), [], 'nothing of what is left bears it');
});

test('without the tag op, operations go by the tag that most processes bear', () => {
  const other = testSet([
    { pid: 1, tags: 'a:1;b:2' },
    { pid: 2, tags: 'b:3' },
  ]);
  assert.equal(tagKey(tagKeys(other)), 'b');
  assert.equal(tagKey(tagKeys(testSet([{ pid: 1 }]))), undefined);
  assert.deepEqual(operationsOf(testSet([{ pid: 1 }])), []);
});

test('threads that nobody counted are missing, not none', () => {
  const processSet = testSet([
    { pid: 1, from: 0, to: 1, tags: 'op:a', source: 'parent', threads: Number.NaN },
    { pid: 2, from: 0, to: 1, tags: 'op:b', source: 'parent', threads: Number.NaN },
    { pid: 3, from: 0, to: 1, tags: 'op:b', threads: 4 },
  ]);
  assert.deepEqual(
    operationsOf(processSet).map(({ name, threads }) => [name, threads]),
    [
      ['op:a', Number.NaN],
      ['op:b', 4],
    ],
  );
});

test('operations carry every counter, and those of several jobs can be one', () => {
  const two = testSet(
    [
      { pid: 1, from: 0, to: 10, cpu: 1, tags: 'op:a', job: 0, metrics: { rchar: 5, rssmax: 100 } },
      { pid: 2, from: 0, to: 20, cpu: 3, tags: 'op:a', job: 1, metrics: { rchar: 7, rssmax: 80 } },
      { pid: 3, from: 0, to: 5, cpu: 4, tags: 'op:b', job: 1, metrics: { rchar: 1 } },
    ],
    [testJob(), testJob()],
  );
  const all = acrossJobs(two, operationsOf(two));
  assert.deepEqual(
    all.map(({ name, jobs, processes, cpu_time, duration }) => [name, jobs, processes, cpu_time, duration]),
    [
      ['op:a', 2, 2, 4e6, 30e6],
      ['op:b', 1, 1, 4e6, 5e6],
    ],
  );
  assert.equal(all[0]!.cpu_share, 0.5);
  // of memory the highest, of counters the sum
  assert.deepEqual(
    [...metricTotals(two, all[0]!.members)],
    [
      ['rchar', 12],
      ['rssmax', 100],
    ],
  );
  assert.deepEqual([...metricTotals(two, all[1]!.members)], [['rchar', 1]]);
});
