import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ChartData } from './chart-data.ts';
import { entriesOf } from './legend.ts';
import { chartOption, DARK, HEAT, heatColumns, jobExtent, LIGHT, seriesName, unlikeRows } from './option.ts';

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
  const of = (...means: number[]): ChartData => ({
    ...heat,
    series: means.map((mean, i) => ({ node: `c${i}`, mean: [0, 2 * mean] })),
  });
  assert.deepEqual(unlikeRows(of(1, 8, 8)), [true, false, false]);
  // of two rows neither is unlike most, nor is half of them
  assert.deepEqual(unlikeRows(of(1, 8)), [false, false]);
  assert.deepEqual(unlikeRows(of(1, 8, 1, 8)), [false, false, false, false]);
  const { series } = chartOption(heat, { theme: LIGHT, start: 0 }) as { series: { showSymbol?: boolean }[] };
  assert.equal(series[1]!.showSymbol, true);
});

test('on a small screen more than half of a heat map is the map', () => {
  const { grid } = chartOption({ ...data, as: 'heat' }, { theme: LIGHT, start: 0, isNarrow: true }) as {
    grid: { left: number; right: number }[];
  };
  assert.ok(grid[0]!.left + grid[0]!.right < 340 / 2);
});

test('a heat map of few steps ends with the job, and every cell stands where its step is', () => {
  // 30 s in steps of 12 s, of which the first begins 5 s before the job and the last ends 1 s after it
  const heat: ChartData = {
    ...data,
    ...{ as: 'heat', from: -5e6, step: 12e6, count: 2 },
    series: [
      { node: 'c1', mean: [1, 2, 3] },
      { node: 'c2', mean: [4, null, 6] },
    ],
    band: { min: [1, 2, 3], mean: [2.5, 2, 4.5], max: [4, 2, 6], sum: [5, 2, 9] },
  };
  const look = { theme: LIGHT, start: 0, extent: [0, 30e6] as const };
  const { xAxis, series } = chartOption(heat, look) as {
    xAxis: { data?: string[]; min?: number; max?: number }[];
    series: { data: [number, number, number][] }[];
  };
  assert.deepEqual([xAxis[3]!.min, xAxis[3]!.max], [0, 30e6]);
  const columns = xAxis[0]!.data!.length;
  const shareOf = (y: number, value: number): number =>
    series[0]!.data.filter((cell) => cell[1] === y && cell[2] === value).length / columns;
  const near = (share: number, seconds: number): void =>
    assert.ok(Math.abs(share - seconds / 30) < 0.01, `${share * 30} s of ${seconds}`);
  near(shareOf(0, 1), 7);
  near(shareOf(0, 2), 12);
  near(shareOf(0, 3), 11);
  near(shareOf(1, 6), 11);
  assert.equal(series[0]!.data.length, Math.round((shareOf(0, 1) * 2 + shareOf(0, 2) + shareOf(0, 3) * 2) * columns));
  // steps that fit are cells as they are
  assert.deepEqual(heatColumns(heat, { extent: [-5e6, 31e6] }), [0, 1, 2]);
});

test('a line says what it is the limit of', () => {
  const labels = (changes: Partial<ChartData>, threshold?: number): string[] =>
    (
      chartOption(
        { ...data, ...changes },
        { theme: LIGHT, start: 0, ...(threshold === undefined ? {} : { threshold }) },
      ) as { series: { markLine?: { label: { formatter: string } } }[] }
    ).series.flatMap(({ markLine }) => markLine?.label.formatter ?? []);
  assert.deepEqual(labels({}, 2), ['threshold of the finding: 2 B']);
  assert.deepEqual(labels({ limit: 4 }), ['limit: 4 B']);
  assert.deepEqual(labels({ limit: 4, count: 2 }), ['limit of each: 4 B']);
});

test('the cgroup of the job itself is named in words', () => {
  assert.equal(seriesName({ node: 'c1', key: '.' }), 'c1, whole job');
  assert.equal(seriesName({ node: 'c1', key: 'step_0' }), 'c1 step_0');
});

test('all charts of a job begin with it, also while it runs', () => {
  const live: ChartData = { ...data, from: -5e6, step: 1e6, series: [{ node: 'c1', mean: [1, 2, 3, 4, 5, 6, 7] }] };
  const { band: _, ...unbanded } = live;
  assert.deepEqual(jobExtent({ start: 0 }, unbanded), [0, 2e6]);
  assert.equal(jobExtent({ start: 0 }, undefined), undefined);
  assert.deepEqual(jobExtent({ start: 0, end: 9e6 }, unbanded), [0, 9e6]);
  assert.deepEqual(jobExtent({ start: 0, end: 9e6, range: { from: 1, to: 2 } }, unbanded), [1, 2]);
});

test('a small chart has fewer times at its axis, not some of them left out', () => {
  const times = (width: number): string[] => {
    const { xAxis } = chartOption(data, { theme: LIGHT, start: 0, extent: [0, 7200e6], width }) as {
      xAxis: { axisLabel: { customValues: number[]; formatter(value: number): string } };
    };
    return xAxis.axisLabel.customValues.map(xAxis.axisLabel.formatter);
  };
  assert.deepEqual(times(600), ['0', '30 min', '1 h', '1 h 30 min', '2 h']);
  assert.deepEqual(times(330), ['0', '1 h', '2 h']);
});

test('a long label at the axis goes without its unit rather than without its first digit', () => {
  const label = (value: number, unit: ChartData['unit']): string => {
    const { yAxis } = chartOption({ ...data, unit }, { theme: LIGHT, start: 0 }) as {
      yAxis: { axisLabel: { formatter(value: number): string } };
    };
    return yAxis.axisLabel.formatter(value);
  };
  assert.deepEqual(
    [label(2, 'CPUs'), label(0.0015, 'CPUs'), label(1000, 'threads'), label(1000 * 2 ** 20, 'bytes/s')],
    ['2 CPUs', '0.0015', '1,000', '1,000 MiB/s'],
  );
  // where one has no room for its unit, that at 0 alone has it
  const small: ChartData = { ...data, as: 'lines', unit: 'CPUs', series: [{ node: 'c1', mean: [0.0012] }] };
  const { yAxis } = chartOption(
    { ...small, band: { min: [0.0012], mean: [0.0012], max: [0.0012], sum: [0.0012] } },
    { theme: LIGHT, start: 0 },
  ) as { yAxis: { axisLabel: { formatter(value: number): string } } };
  assert.deepEqual([0, 0.0005, 0.001, 0.0015].map(yAxis.axisLabel.formatter), ['0 CPUs', '0.0005', '0.001', '0.0015']);
});

test('behind many lines ranges show the spikes that are not in their means', () => {
  const means = Array.from({ length: 5 }, (_, i) => ({ node: `c${i}`, mean: [1, 1], min: [1, 0], max: [1, 9] }));
  const many: ChartData = {
    ...data,
    count: 5,
    series: means,
    band: { min: [1, 0], mean: [1, 1], max: [1, 9], sum: [5, 5] },
  };
  const { series } = chartOption(many, { theme: LIGHT, start: 0 }) as {
    series: { name: string; areaStyle?: unknown; data: [number, number][] }[];
  };
  assert.equal(entriesOf(many, LIGHT).at(-1)!.name, 'shaded: single samples');
  // from 0 to the means of 1, and from there to 9
  const [least, below, highest, above, ...lines] = series;
  assert.deepEqual(
    [least, below, highest, above].map((one) => one!.data.map(([, value]) => value)),
    [
      [1, 0],
      [0, 1],
      [1, 1],
      [0, 8],
    ],
  );
  assert.deepEqual(
    lines.map(({ name, areaStyle }) => [name, areaStyle]),
    means.map(({ node }) => [node, undefined]),
  );
});
