import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ChartData } from './chart-data.ts';
import { chartOption, DARK, HEAT, LIGHT, unlikeRows } from './option.ts';

const data: ChartData = {
  ...{ id: 'memory', title: 'Memory used', unit: 'bytes', scope: 'job', source: '', from: 500_000, step: 1e6 },
  ...{ as: 'lines', count: 1, series: [{ node: 'c1', mean: [1, 2, 3] }] },
  band: { min: [1, 2, 3], mean: [1, 2, 3], max: [1, 2, 3], sum: [1, 2, 3] },
};

test('all charts of a job have the same time from left to right, and no value is lost at its ends', () => {
  const option = chartOption(data, { theme: LIGHT, start: 1.2e6, extent: [1.2e6, 2.8e6] }) as {
    xAxis: { min: number; max: number };
    series: { data: [number, number][] }[];
  };
  assert.deepEqual([option.xAxis.min, option.xAxis.max], [1.2e6, 2.8e6]);
  assert.deepEqual(option.series[0]!.data, [
    [1.2e6, 1],
    [2e6, 2],
    [2.8e6, 3],
  ]);
});

test('the least of a heat map is seen on a dark page', () => {
  const coloursIn = (theme: typeof LIGHT): string[] =>
    (chartOption({ ...data, as: 'heat' }, { theme, start: 0 }) as { visualMap: { inRange: { color: string[] } } })
      .visualMap.inRange.color;
  assert.deepEqual(coloursIn(LIGHT), HEAT);
  assert.deepEqual(coloursIn(DARK), HEAT.slice(3));
});

test('beside a heat map rows that are unlike most are marked; above it values that stand alone are dots', () => {
  const rows = [4, 4, null, 4].map((value, i) => ({ node: `c${i}`, mean: [value, null, value] }));
  const heat: ChartData = {
    ...data,
    ...{ as: 'heat', count: 5, series: [...rows, { node: 'c4', mean: [1, null, 1] }] },
    band: { min: [1, null, 1], mean: [3, null, 3], max: [4, null, 4], sum: [13, null, 13] },
  };
  assert.deepEqual(unlikeRows(heat), [false, false, false, false, true]);
  const { series } = chartOption(heat, { theme: LIGHT, start: 0 }) as { series: { showSymbol?: boolean }[] };
  assert.equal(series[1]!.showSymbol, true);
});

test('on a small screen more than half of a heat map is the map', () => {
  const { grid } = chartOption({ ...data, as: 'heat' }, { theme: LIGHT, start: 0, isNarrow: true }) as {
    grid: { left: number; right: number }[];
  };
  assert.ok(grid[0]!.left + grid[0]!.right < 340 / 2);
});
