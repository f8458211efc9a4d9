import assert from 'node:assert/strict';
import { test } from 'node:test';
import { digits, sinceStart, withUnit } from './value-text.ts';

test('numbers of charts have two or three digits that matter, large ones commas between thousands', () => {
  assert.deepEqual([0.0456, 1, 9.96, 12.34, 40, 123.4, 999.4].map(digits), [
    ...['0.046', '1', '10', '12.3', '40', '123', '999'],
  ]);
  assert.deepEqual([1000, 1234.5, -1234.5, 65_536, 12_345_678].map(digits), [
    ...['1,000', '1,235', '-1,234', '65,536', '12,345,678'],
  ]);
  assert.equal(withUnit(25_600_000, 'W'), '25,600 kW');
});

test('times are since the start of the job, also the first sample before it', () => {
  assert.deepEqual([0, 500_000, 30e6, 3723e6].map(sinceStart), ['0:00', '0:00.5', '0:30', '1:02:03']);
  assert.deepEqual([-10_000, -500_000, -1e6, -90e6, -3723e6].map(sinceStart), [
    ...['0:00', '-0:00.5', '-0:01', '-1:30', '-1:02:03'],
  ]);
});
