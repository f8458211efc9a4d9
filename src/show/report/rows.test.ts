import assert from 'node:assert/strict';
import { test } from 'node:test';
import { figureRows } from './rows.ts';

test('figures of merit keep the digits they were given', () => {
  const shown = (...values: (number | string)[]): string[] =>
    figureRows(values.map((value, time) => ({ name: 'merit', time, value }))).rows[0]!.map(String);
  assert.deepEqual(shown(0.98765432), ['merit', '0.98765432', '', '', '']);
  assert.deepEqual(shown(4100.5), ['merit', '4,100.5', '', '', '']);
  assert.deepEqual(shown(0.1 + 0.2, 1234567, -0.000125), ['merit', '-0.000125', '-0.000125', '1,234,567', '3']);
  assert.deepEqual(shown(0.1 + 0.2), ['merit', '0.3', '', '', '']);
  assert.deepEqual(shown(Number.MAX_VALUE), ['merit', '1.7976931348623157e+308', '', '', '']);
  assert.deepEqual(shown('fast'), ['merit', 'fast', '', '', '']);
});
