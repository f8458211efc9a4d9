import assert from 'node:assert/strict';
import { test } from 'node:test';
import { count, energy, figure, listed, percent } from './readable.ts';

test('shares are percentages with one digit where it matters', () => {
  assert.deepEqual([0, 0.0004, 0.004, 0.062, 0.0996, 0.5, 0.873, 1.2].map(percent), [
    '0 %',
    '< 0.1 %',
    '0.4 %',
    '6.2 %',
    '10 %',
    '50 %',
    '87 %',
    '120 %',
  ]);
  assert.equal(percent(30.12), '3,012 %');
  assert.equal(percent(undefined), '-');
  assert.equal(percent(Number.NaN), '-');
});

test('numbers have about three digits', () => {
  assert.deepEqual([0, 0.0042, 0.5, 1.5, 17.25, 99.96, 1234.5, 57_600].map(figure), [
    '0',
    '0.0042',
    '0.5',
    '1.5',
    '17.3',
    '100',
    '1,235',
    '57,600',
  ]);
});

test('energy is in the unit that fits', () => {
  assert.deepEqual([73, 3600, 512 * 3600, 41_200 * 3600, 7.2e9].map(energy), [
    '73 J',
    '1 Wh',
    '512 Wh',
    '41.2 kWh',
    '2 MWh',
  ]);
});

test('things are counted and listed', () => {
  assert.equal(count(1, 'node'), '1 node');
  assert.equal(count(3, 'process', 'processes'), '3 processes');
  assert.equal(listed(['a', 'b', 'c']), 'a, b and c');
  assert.equal(listed(['a', 'b', 'c', 'd', 'e']), 'a, b and 3 more');
});
