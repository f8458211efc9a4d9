import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LIGHT } from './option.ts';
import { scalingOption } from './scaling-option.ts';

test('a size that is faster than the ideal is inside the chart', () => {
  const sizes = [
    { size: 2, speedup: 1, efficiency: 1, runs: 1 },
    { size: 4, speedup: 45.7, efficiency: 22.9, runs: 1 },
  ];
  const { yAxis } = scalingOption({ by: 'gpus', smallest: 2, sizes, laws: [] }, LIGHT) as { yAxis: { max: number } };
  assert.equal(yAxis.max, 64);
});
