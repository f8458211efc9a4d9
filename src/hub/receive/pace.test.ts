import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Pace } from './pace.ts';

const after = (pace: Pace, ...shares: number[]): number[] =>
  shares.map((share) => {
    pace.change(share);
    return pace.seconds;
  });

test('a busy hub asks for longer batches step by step, one with room for shorter ones', () => {
  const pace = new Pace();
  assert.equal(pace.seconds, 0);
  assert.deepEqual(after(pace, 0.9, 0.9, 0.5, 0.7, 0.9), [2, 5, 5, 10, 10]);
  assert.deepEqual(after(pace, 0.3, 0.1, 0.1, 0.1, 0.1), [10, 5, 2, 0, 0]);
});

test('limits that are set are kept to', () => {
  assert.deepEqual(after(new Pace({ idle: 3, busy: 4 }), 0.9, 0.9, 0.1), [4, 4, 3]);
  assert.deepEqual(after(new Pace({ idle: 20, busy: 10 }), 0.9, 0.1), [20, 20]);
});
