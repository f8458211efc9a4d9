import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inBlocks } from './blocks.ts';

test('a loop in blocks sees every place once, and ends where it is told to', () => {
  const visited: number[] = [];
  const see = (from: number, to: number, stop: number): number => {
    let i = from;
    while (i < to && i !== stop) visited.push(i++);
    return i;
  };
  assert.equal(inBlocks(3, 1000, see, 5000), 1000);
  assert.deepEqual(
    visited,
    Array.from({ length: 997 }, (_, i) => i + 3),
  );
  assert.equal(inBlocks(0, 1000, see, 700), 700);
  assert.equal(inBlocks(7, 7, see, 0), 7);
});
