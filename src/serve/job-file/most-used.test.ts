import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ProcessData } from '../api.ts';
import { mostUsed } from './most-used.ts';

/** sh starts make, which starts two compilers; an idle shell stands beside them. */
const data: ProcessData = {
  length: 5,
  names: ['sh', 'idle', 'make', 'cc', ''],
  name: [0, 1, 2, 3, 3],
  operation: [4, 4, 4, 4, 4],
  node: [0, 0, 0, 0, 0],
  nodes: ['c1'],
  pid: [10, 11, 12, 13, 14],
  parent: [-1, -1, 0, 2, 2],
  start: [0, 1, 2, 3, 4],
  end: [9, 9, 9, 9, null],
  cpu: [0.1, 0, 0.2, 5, 80],
  memory: [1, 2, 3, 4, 5],
  exit: [0, 0, 0, 0, null],
  rank: [],
  threads: [1, 1, 1, 1, 8],
};

test('the processes that used most stay with all above them, and parents are found at their new places', () => {
  const { pid, parent, cpu, threads, end, length, left_out: leftOut } = mostUsed(data, 3);
  assert.deepEqual(
    { pid, parent, cpu, threads, end, length, leftOut },
    {
      pid: [10, 12, 14],
      parent: [-1, 0, 1],
      cpu: [0.1, 0.2, 80],
      threads: [1, 1, 8],
      end: [9, 9, null],
      length: 3,
      leftOut: 2,
    },
  );
});

test('few processes are all there', () => {
  assert.equal(mostUsed(data, 5), data);
});
