import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sweepEvery } from './caretaker.ts';

test('a short time to seal after is kept to', () => {
  assert.deepEqual([3600, 600, 45, 1].map(sweepEvery), [600, 600, 45, 10]);
});
