import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { levelTable } from '../../../test/made/level-table.ts';
import { counter, type Table, text } from '../../table/table.ts';
import type { Batch } from '../read/batch.ts';
import { MOST_PROCESSES, measure } from './measure.ts';
import { quantiles, weightedQuantiles } from './quantiles.ts';
import type { Statistics } from './statistics.ts';

/** One series; times in seconds. */
function batchOf(times: number[], columns: Record<string, number[]>, changes: Partial<Table> = {}): Batch {
  return {
    table: { ...levelTable, ...changes },
    rows: times.length,
    time: Float64Array.from(times, (t) => t * 1e6),
    numbers: new Map(Object.entries(columns).map(([name, values]) => [name, Float64Array.from(values)])),
    texts: new Map(),
    series: Uint32Array.of(0, times.length),
  };
}

const column = (batch: Batch, name: string): Statistics => measure(batch).series[0]!.columns[name]!;

test('a gauge: extremes, when the maximum came first, mean, percentiles and the area under it', () => {
  const columnStatistics = column(batchOf([0, 1, 2, 4, 5], { level: [2, 8, NaN, 8, 6] }), 'level');
  assert.deepEqual(columnStatistics, {
    count: 4,
    missing: 1,
    first: 2,
    last: 6,
    min: 2,
    max: 8,
    max_time: 1e6,
    // 2 × 1 s, 8 × 3 s, 8 × 1 s, and the last for a mean step of 5/3 s
    mean: (2 + 24 + 8 + 10) / (5 + 5 / 3),
    deviation: Math.sqrt(6),
    p05: 2.6,
    p25: 5,
    p50: 7,
    p75: 8,
    p95: 8,
    // (2+8)/2 × 1 s, 8 × 3 s, (8+6)/2 × 1 s
    integral: 5 + 24 + 7,
  });
});

test('the mean of a level is that of its time: early looks in a row do not weigh more', () => {
  // three looks in the first half second, while it was still 0: with those before it, 90 held for 5 s and a mean step
  const times = [0, 0.25, 0.5, 1, 2, 3, 4, 5, 6];
  const columnStatistics = column(batchOf(times, { level: [0, 0, 0, 90, 90, 90, 90, 90, 90] }), 'level');
  assert.equal(columnStatistics.mean, (5.75 * 90) / 6.75);
  // samples that are equally far apart count the same
  assert.equal(column(batchOf([0, 1, 2], { level: [100, 0, 50] }), 'level').mean, 50);
  assert.equal(column(batchOf([0, 0.1, 0.3], { level: [0.7, 0.7, 0.7] }), 'level').mean, 0.7);
  assert.equal(column(batchOf([3], { level: [0.7] }), 'level').mean, 0.7);
});

test('samples that happen to be close together make no peak', () => {
  const rate = (times: number[], total: number[]) =>
    column({ ...batchOf(times, { total }), interval_seconds: 1 }, 'total').rate;
  const late = rate([0, 1, 2, 2.125], [0, 10, 20, 27])!;
  assert.deepEqual([late.max, late.max_time, late.min], [17 / 1.125, 2.125e6, 10]);
  const early = rate([0, 0.045, 1, 2], [0, 7, 7, 17])!;
  assert.deepEqual([early.max, early.min], [10, 0]);
  assert.equal(rate([0, 0.045], [0, 7]), undefined);
  // what grew in the first cell is a rate of its own if half an interval passed, and else one with the next cell
  const burst = rate([0.6, 1.4, 2], [0, 80, 82])!;
  assert.deepEqual([burst.max.toFixed(9), burst.max_time, burst.min], ['100.000000000', 1.4e6, 2 / 0.6]);
  const briefly = rate([0.6, 1, 2, 3], [0, 80, 81, 82])!;
  assert.deepEqual([briefly.max, briefly.max_time, briefly.min], [81 / 1.4, 2e6, 1]);
  assert.deepEqual([briefly.p05, briefly.p95], [1, 1], 'percentiles are of whole cells');
  // so is what grew at the end: a tick was late
  const hasty = rate([0, 1, 2.4, 2.6], [0, 10, 24, 44])!;
  assert.deepEqual([hasty.max, hasty.max_time, hasty.min], [34 / 1.6, 2.6e6, 10]);
  assert.equal(rate([0.4, 0.6], [0, 7]), undefined, 'too close together, in two cells');
  const short = rate([0.6, 1.3], [0, 7])!;
  assert.deepEqual([short.max, short.min, short.p50], [10, 10, 10]);
  // a tick that came so late that the next was due: one rate for both, and the first sample just before a tick none
  const busy = rate([0.73, 1, 2, 3.62, 4, 5], [0, 9, 19, 35.2, 59, 69])!;
  assert.deepEqual([busy.max, busy.max_time, busy.min], [20, 4e6, 10]);
});

test('a counter: growth and rates, with a restart from zero in between', () => {
  const columnStatistics = column(batchOf([0, 1, 2, 4, 5], { total: [100, 110, 5, 45, 45] }), 'total');
  assert.equal(columnStatistics.increase, 10 + 5 + 40 + 0);
  const { p05, p95, ...rest } = columnStatistics.rate!;
  assert.deepEqual(rest, { min: 0, max: 20, max_time: 4e6, mean: 11, p50: 7.5 });
  assert.deepEqual(
    [p05, p95].map((p) => p.toFixed(9)),
    ['0.750000000', '18.500000000'],
  );
  assert.equal(columnStatistics.integral, undefined);
  assert.deepEqual(
    [columnStatistics.first, columnStatistics.last, columnStatistics.min, columnStatistics.max],
    [100, 45, 5, 110],
  );
});

test('in a sparse table a value counts for as long as it held', () => {
  const sparse = { sparse: true };
  const columnStatistics = column(batchOf([0, 1, 10, 20], { level: [100, 4, 6, 6] }, sparse), 'level');
  assert.equal(columnStatistics.integral, 100 + 4 * 9 + 6 * 10);
  assert.equal(columnStatistics.mean, (100 + 36 + 60) / 20);
  assert.deepEqual(
    [columnStatistics.p05, columnStatistics.p25, columnStatistics.p50, columnStatistics.p75, columnStatistics.p95],
    [4, 4, 6, 6, 6],
  );
  const growing = column(batchOf([0, 1, 10, 20], { total: [0, 5, 5, 105] }, sparse), 'total');
  assert.deepEqual([growing.rate!.p05, growing.rate!.p50, growing.rate!.p95], [0, 5, 10]);
  assert.deepEqual([growing.mean, growing.p50, growing.p95], [95 / 20, 5, 5]);
  // a value that is not repeated in every row holds until the series ends
  const rare = column(batchOf([0, 1, 10, 20], { level: [100, 4, NaN, NaN] }, sparse), 'level');
  assert.equal(rare.integral, 100 + 4 * 19);
  // one row alone held for no time at all: it is still what there is
  const single = column(batchOf([7], { level: [3] }, sparse), 'level');
  assert.deepEqual([single.mean, single.p50, single.integral, single.count], [3, 3, 0, 1]);
});

test('a column without any value is left out; one sample has no rate', () => {
  const [series] = measure(batchOf([1], { level: [NaN], total: [9] })).series;
  assert.deepEqual(Object.keys(series!.columns), ['total']);
  assert.deepEqual([series!.columns.total!.increase, series!.columns.total!.rate], [0, undefined]);
  assert.equal(series!.columns.total!.deviation, 0);
});

test('series carry their keys, their first and last sample, and their last words', () => {
  const keyed: Table = { ...levelTable, keys: [{ name: 'disk', help: '' }], columns: [text('state', '')] };
  const batch: Batch = {
    table: keyed,
    rows: 5,
    time: Float64Array.of(1, 2, 3, 2, 9),
    numbers: new Map(),
    texts: new Map([
      ['disk', { values: ['', 'sda', 'sdb'], codes: Uint32Array.of(1, 1, 1, 2, 2) }],
      ['state', { values: ['', 'up', 'down'], codes: Uint32Array.of(1, 2, 0, 0, 0) }],
    ]),
    series: Uint32Array.of(0, 3, 5),
  };
  assert.deepEqual(measure(batch), {
    table: 't',
    rows: 5,
    start: 1,
    end: 9,
    series_total: 2,
    series: [
      { keys: { disk: 'sda' }, start: 1, end: 3, samples: 3, texts: { state: 'down' }, columns: {} },
      { keys: { disk: 'sdb' }, start: 2, end: 9, samples: 2, texts: {}, columns: {} },
    ],
  });
});

test('of too many processes those with the most CPU time are described', () => {
  const total = MOST_PROCESSES + 500;
  const processes: Table = {
    ...levelTable,
    keys: [{ name: 'pid', help: '' }],
    columns: [counter('user_ms', 'milliseconds', ''), counter('system_ms', 'milliseconds', '')],
  };
  const pids = Array.from({ length: total }, (_, i) => i);
  const tableStatistics = measure({
    table: processes,
    rows: total,
    time: new Float64Array(total).fill(5),
    numbers: new Map([
      ['user_ms', Float64Array.from(pids, (i) => (i % 2 === 0 ? i : 0))],
      ['system_ms', Float64Array.from(pids, (i) => (i % 2 === 0 ? NaN : i))],
    ]),
    texts: new Map([['pid', { values: pids.map(String), codes: Uint32Array.from(pids) }]]),
    series: Uint32Array.from({ length: total + 1 }, (_, i) => i),
  });
  assert.equal(tableStatistics.series_total, total);
  assert.deepEqual(
    tableStatistics.series.map((s) => s.keys.pid),
    pids.slice(500).map(String),
  );
});

test('of too many processes, those that are older than the recording count by what they did in it', () => {
  const total = MOST_PROCESSES + 1;
  const pids = Array.from({ length: total }, (_, i) => i);
  const tableStatistics = measure({
    table: {
      ...levelTable,
      keys: [
        { name: 'pid', help: '' },
        { name: 'start', help: '' },
      ],
      columns: [counter('user_ms', 'milliseconds', '')],
    },
    rows: 2 * total,
    time: Float64Array.from({ length: 2 * total }, (_, i) => 1e9 + (i % 2) * 1e6),
    // the first one is old and has used most, all of it before
    numbers: new Map([['user_ms', Float64Array.from({ length: 2 * total }, (_, i) => (i < 2 ? 1e9 : i))]]),
    texts: new Map([
      ['pid', { values: pids.map(String), codes: Uint32Array.from({ length: 2 * total }, (_, i) => i >> 1) }],
      [
        'start',
        { values: ['10', '1000000'], codes: Uint32Array.from({ length: 2 * total }, (_, i) => (i < 2 ? 0 : 1)) },
      ],
    ]),
    series: Uint32Array.from({ length: total + 1 }, (_, i) => 2 * i),
    began: 1e9,
  });
  assert.deepEqual(
    tableStatistics.series.map((s) => s.keys.pid),
    pids.slice(1).map(String),
  );
});

test('percentiles are those of the sorted values, whatever the order', () => {
  const reference = (values: number[], share: number): number => {
    const sorted = [...values].sort((a, b) => a - b);
    const position = share * (sorted.length - 1);
    const low = sorted[Math.floor(position)]!;
    return low + ((sorted[Math.ceil(position)] ?? low) - low) * (position - Math.floor(position));
  };
  const shares = [0.05, 0.25, 0.5, 0.75, 0.95];
  const value = fc.oneof(fc.integer({ min: -5, max: 5 }), fc.integer());
  fc.assert(
    fc.property(fc.array(value, { minLength: 1, maxLength: 500 }), (values) => {
      const quantileValues = quantiles(Float64Array.from(values), values.length, shares);
      quantileValues.forEach((q, i) => {
        assert.ok(Math.abs(q - reference(values, shares[i]!)) <= 1e-6 * (1 + Math.abs(q)));
      });
    }),
    { numRuns: 1000 },
  );
  // orders that defeat simple pivots
  const n = 20_000;
  for (const order of [
    (i: number) => i,
    (i: number) => -i,
    (i: number) => Math.min(i, n - i),
    (i: number) => i % 100,
  ]) {
    const values = Array.from({ length: n }, (_, i) => order(i));
    const quantileValues = quantiles(Float64Array.from(values), n, shares);
    assert.deepEqual(
      quantileValues.map((q) => Math.round(q * 1e6)),
      shares.map((share) => Math.round(reference(values, share) * 1e6)),
    );
  }
});

test('weighted percentiles are those of values repeated by their weight', () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.integer({ min: -50, max: 50 }), fc.integer({ min: 1, max: 9 })), {
        minLength: 1,
        maxLength: 300,
      }),
      (pairs) => {
        const repeated = pairs.flatMap(([value, weight]) => Array<number>(weight).fill(value)).sort((a, b) => a - b);
        const values = Float64Array.from(pairs, ([value]) => value);
        const weights = Float64Array.from(pairs, ([, weight]) => weight);
        const shares = [0.05, 0.25, 0.5, 0.75, 0.95];
        assert.deepEqual(
          weightedQuantiles(values, weights, pairs.length, shares),
          shares.map((share) => repeated[Math.ceil(share * repeated.length) - 1]),
        );
      },
    ),
    { numRuns: 500 },
  );
  // orders that defeat simple pivots
  const organ = Float64Array.from({ length: 5000 }, (_, i) => Math.min(i, 5000 - i));
  assert.deepEqual(weightedQuantiles(organ, new Float64Array(5000).fill(1), 5000, [0.5, 0.95]), [1250, 2375]);
});

test('no peak is below the mean: every growth is in some rate', () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.integer({ min: 1, max: 1700 }), fc.integer({ min: 0, max: 100 })), { minLength: 1 }),
      (steps) => {
        const times = [0];
        const total = [0];
        for (const [time, grown] of steps) {
          times.push(times.at(-1)! + time / 1000);
          total.push(total.at(-1)! + grown);
        }
        const { rate } = column({ ...batchOf(times, { total }), interval_seconds: 1 }, 'total');
        if (rate === undefined) return;
        assert.ok(rate.max >= rate.mean * (1 - 1e-9) && rate.min <= rate.mean * (1 + 1e-9), JSON.stringify(rate));
      },
    ),
    { numRuns: 500 },
  );
});
