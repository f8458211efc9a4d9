import assert from 'node:assert/strict';
import { test } from 'node:test';
import { append, greatest, smallest } from './extremes.ts';

test('a million values are no more trouble than three', () => {
  const many = Array.from({ length: 1_000_000 }, (_, i) => (i * 7919) % 1_000_003);
  assert.deepEqual([smallest(many), greatest(many)], [0, 1_000_002]);
  const list = [1];
  append(list, many);
  assert.equal(list.length, 1_000_001);
});

test('of none, and of what is no number, they say what Math.min and Math.max say', () => {
  assert.deepEqual([smallest([]), greatest([])], [Math.min(), Math.max()]);
  assert.deepEqual([smallest([1, Number.NaN]), greatest([Number.NaN, 1])], [Number.NaN, Number.NaN]);
});
