import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chartOf } from '../job-charts.ts';
import { barsOf, boxesOf } from './option.ts';

const chart = chartOf('gpu')!;
const values = (...all: number[]) => ({
  min: Float64Array.from(all),
  mean: Float64Array.from(all),
  max: Float64Array.from(all),
});
const drawing = {
  chart,
  source: chart.sources[0]!,
  from: 100,
  step: 10,
  steps: 5,
  series: [
    { node: 'c1', key: '0', ...values(1, 2, 3, Number.NaN, Number.NaN) },
    { node: 'c1', key: '1', ...values(3, 4, 5, Number.NaN, Number.NaN) },
  ],
};

test('a box has the quartiles of all series in its samples; where nothing was measured there is none', () => {
  assert.deepEqual(boxesOf(drawing, 2), [
    { from: 100, to: 120, values: [1, 1.75, 2.5, 3.25, 4] },
    { from: 120, to: 140, values: [3, 3.5, 4, 4.5, 5] },
  ]);
});

test('a bar is the mean of what was measured', () => {
  assert.deepEqual(barsOf(drawing), [
    { name: 'c1 0', min: 1, mean: 2, max: 3 },
    { name: 'c1 1', min: 3, mean: 4, max: 5 },
  ]);
});
