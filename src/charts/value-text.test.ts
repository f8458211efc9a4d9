import assert from 'node:assert/strict';
import { test } from 'node:test';
import { digits, withUnit } from './value-text.ts';

test('numbers of charts have two or three digits that matter, large ones commas between thousands', () => {
  assert.deepEqual([0.0456, 1, 9.96, 12.34, 40, 123.4, 999.4].map(digits), [
    ...['0.046', '1', '10', '12.3', '40', '123', '999'],
  ]);
  assert.deepEqual([1000, 1234.5, -1234.5, 65_536, 12_345_678].map(digits), [
    ...['1,000', '1,235', '-1,234', '65,536', '12,345,678'],
  ]);
  assert.equal(withUnit(25_600_000, 'W'), '25,600 kW');
});
