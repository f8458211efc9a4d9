import assert from 'node:assert/strict';
import { test } from 'node:test';
import { outliers } from './peers.ts';

test('one that lies apart is found', () => {
  assert.deepEqual(outliers([0.9, 0.91, 0.89, 0.6, 0.9], 0.1), [{ index: 3, value: 0.6, median: 0.9 }]);
});

test('differences that matter to nobody are none', () => {
  assert.deepEqual(outliers([0.9, 0.9, 0.9, 0.9, 0.95], 0.1), []);
});

test('a wide field has no outliers', () => {
  assert.deepEqual(outliers([0.1, 0.3, 0.5, 0.7, 0.9], 0.1), []);
});

test('three cannot say who is odd, and missing values do not count', () => {
  assert.deepEqual(outliers([0.9, 0.9, 0.1], 0.1), []);
  assert.deepEqual(outliers([0.9, 0.9, 0.1, undefined, Number.NaN], 0.1), []);
});
