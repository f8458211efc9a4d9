import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BEGAN, testSet } from '../../../test/made/processes.ts';
import { aliveIn, timelineOf } from './timeline.ts';

const set = testSet([
  { pid: 1, from: 0, to: 100, exename: 'sh' },
  { pid: 2, from: 10, to: 30, tags: 'op:a' },
  { pid: 3, from: 20, to: 40, tags: 'op:a' },
  { pid: 4, from: 90, tags: 'op:b', source: 'start', node: 'c2' },
]);
const all = [0, 1, 2, 3];

test('the longest first; of one without an end only the start is certain', () => {
  assert.deepEqual(
    timelineOf(set, all, 'process').map(({ name, duration }) => [name, duration]),
    [
      ['sh', 100e6],
      ['p2', 20e6],
      ['p3', 20e6],
      ['p4', 0],
    ],
  );
});

test('operations and nodes by the time in which any of their processes ran', () => {
  assert.deepEqual(
    timelineOf(set, all, 'operation').map(({ name, duration }) => [name, duration]),
    [
      ['op:a', 30e6],
      ['op:b', 0],
    ],
  );
  assert.deepEqual(
    timelineOf(set, [1, 2, 3], 'node').map(({ name, duration }) => [name, duration]),
    [
      ['c1', 30e6],
      ['c2', 0],
    ],
  );
});

test('how many were alive in each part of the time', () => {
  const alive = aliveIn(set, [1, 2, 3], BEGAN, BEGAN + 100e6, 10);
  assert.deepEqual([...alive], [0, 1, 2, 1, 0, 0, 0, 0, 0, 1]);
});

test('the shortest process is still seen', () => {
  const short = testSet([{ pid: 1, from: 55, to: 55 }]);
  assert.deepEqual([...aliveIn(short, [0], BEGAN, BEGAN + 100e6, 10)], [0, 0, 0, 0, 0, 1, 0, 0, 0, 0]);
});
