import assert from 'node:assert/strict';
import { test } from 'node:test';
import { boundsIn, over, through } from './curve.ts';

test('in a gap nobody knows what was used: nothing of it counts, and all of it may have been', () => {
  const curve = through([0, 10, 100, 110], [0, 10, 100, 110], 50)!;
  const asked = (from: number, to: number) => [over(curve, [[from, to]])?.amount, ...boundsIn(curve, [[from, to]])];
  assert.deepEqual(asked(20, 80), [undefined, 0, 90]);
  assert.deepEqual(asked(5, 50), [5, 0, 100]);
  assert.deepEqual(asked(10, 100), [90, 90, 90]);
  assert.deepEqual(asked(50, 105), [5, 0, 100]);
});
