import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BEGAN, testJob, testSet } from '../../../test/made/processes.ts';
import { timeOfProcesses } from './time.ts';

const seconds = (time: Float64Array): number[] => Array.from(time, (one) => Math.round(one / 1e5) / 10);

test('a parent has the time in which no child ran', () => {
  const set = testSet([
    { pid: 10, from: 0, to: 100 },
    { pid: 11, ppid: 10, from: 10, to: 40 },
    { pid: 12, ppid: 10, from: 30, to: 60 },
  ]);
  // 30 to 40 is divided between the two children
  assert.deepEqual(seconds(timeOfProcesses(set, 0)), [50, 25, 25]);
});

test('all parts together are the time in which anything ran', () => {
  const set = testSet([
    { pid: 10, from: 5, to: 20 },
    { pid: 11, from: 10, to: 30 },
    { pid: 12, ppid: 11, from: 12, to: 14 },
    { pid: 13, from: 70, to: 80 },
    { pid: 14, from: 75, source: 'start' },
  ]);
  const total = timeOfProcesses(set, 0).reduce((a, b) => a + b);
  assert.equal(Math.round(total), 35e6);
});

test('what lies before or after the job is not the job’s', () => {
  const set = testSet([{ pid: 10, from: -50, to: 150 }]);
  assert.deepEqual(seconds(timeOfProcesses(set, 0)), [100]);
});

test('of a part of the job, its stretches alone count', () => {
  const set = testSet([
    { pid: 10, from: 0, to: 100 },
    { pid: 11, ppid: 10, from: 10, to: 40 },
    { pid: 12, ppid: 10, from: 30, to: 60 },
    { pid: 13, from: 80, to: 90 },
  ]);
  const span = [
    [BEGAN + 5e6, BEGAN + 15e6],
    [BEGAN + 35e6, BEGAN + 45e6],
    [BEGAN + 95e6, BEGAN + 120e6],
  ] as const;
  // the job ends at 100
  assert.deepEqual(seconds(timeOfProcesses(set, 0, span)), [10, 7.5, 7.5, 0]);
});

test('jobs stay apart', () => {
  const set = testSet(
    [
      { pid: 10, from: 0, to: 10 },
      { pid: 10, from: 0, to: 20, job: 1 },
    ],
    [testJob(), testJob({ id: '18' })],
  );
  assert.deepEqual(seconds(timeOfProcesses(set, 1)), [0, 20]);
});
