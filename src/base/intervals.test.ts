import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lengthOf, union } from './intervals.ts';

test('what overlaps or touches is one interval', () => {
  const merged = union([10, 0, 5, 30, 20], [15, 6, 8, 31, 30]);
  assert.deepEqual(merged, [
    [0, 8],
    [10, 15],
    [20, 31],
  ]);
  assert.equal(lengthOf(merged), 24);
});

test('an interval inside another adds nothing; one without an end is left out', () => {
  assert.deepEqual(union([0, 2, 5], [10, 3, Number.NaN]), [[0, 10]]);
  assert.deepEqual(union([], []), []);
  assert.deepEqual(union([4], [4]), [[4, 4]], 'a moment is an interval');
});
