import assert from 'node:assert/strict';
import { test } from 'node:test';
import { digits, sinceStart, tickText, withUnit } from './value-text.ts';

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

test('times at an axis name their units', () => {
  assert.deepEqual(
    [0, 200_000, 30e6, 90e6, 1800e6, 3600e6, 5400e6, 31 * 60e6 + 15e6, 86_400e6, 129_600e6, -10e6].map(tickText),
    ['0', '0.2 s', '30 s', '1 min 30 s', '30 min', '1 h', '1 h 30 min', '31 min 15 s', '1 d', '1 d 12 h', '-10 s'],
  );
});

test('one of something is no plural', () => {
  assert.deepEqual(
    [withUnit(1, 'CPUs'), withUnit(1, 'threads'), withUnit(0.5, 'CPUs'), withUnit(2, 'threads'), withUnit(1, 's')],
    ['1 CPU', '1 thread', '0.5 CPUs', '2 threads', '1 s'],
  );
});
