import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { levelTable } from '../../../test/made/level-table.ts';
import { type Table, text } from '../../table/table.ts';
import { measure } from '../sealed/measure.ts';
import type { SeriesStatistics } from '../sealed/statistics.ts';
import type { Batch } from './batch.ts';
import { clip } from './clip.ts';

/** One series with a sample every 10 s; times are in seconds. */
function clippedStatistics(total: number[], from: number, to: number, changes: Partial<Table> = {}): SeriesStatistics {
  const batch: Batch = {
    table: { ...levelTable, ...changes },
    rows: total.length,
    time: Float64Array.from(total, (_, i) => i * 10e6),
    numbers: new Map([
      ['level', Float64Array.from(total, (_, i) => i)],
      ['total', Float64Array.from(total)],
    ]),
    texts: new Map(),
    series: Uint32Array.of(0, total.length),
    interval_seconds: 10,
  };
  return measure(clip(batch, { from: from * 1e6, to: to * 1e6, hold: true, edges: true })).series[0]!;
}

test('of a step that the edge of a part cuts, as much counts as lies in the part', () => {
  const { columns, start, end, samples } = clippedStatistics([0, 100, 200, 800], 5, 25);
  assert.deepEqual([start, end, samples], [5e6, 25e6, 2]);
  assert.equal(columns.total!.increase, 50 + 100 + 300);
  assert.equal(columns.total!.rate!.mean, 450 / 20);
  // levels are those of the samples, the area under them is that of the whole part
  assert.deepEqual([columns.level!.count, columns.level!.mean, columns.level!.max], [2, 1.5, 2]);
  assert.equal(columns.level!.integral, 30);
});

test('a part between two samples has none of its own; its levels are what lies between them', () => {
  const { columns, samples } = clippedStatistics([0, 100, 200], 12, 16);
  assert.deepEqual([samples, columns.total!.increase, columns.level!.mean.toFixed(6)], [0, 40, '1.400000']);
});

test('a counter that began again at the edge of a part', () => {
  assert.equal(clippedStatistics([500, 100, 200, 300], 4, 20).columns.total!.increase, 60 + 100);
  assert.equal(clippedStatistics([500, 600, 100, 200], 5, 14).columns.total!.increase, 50 + 40);
  assert.equal(clippedStatistics([500, 100, 200], 2, 4).columns.total!.increase, 20);
});

test('in a sparse table a step lies in the interval before its row', () => {
  const rows = [0, 0, 0, 100, 200];
  const sparse = (from: number, to: number) =>
    clippedStatistics(rows, from, to, { sparse: true }).columns.total!.increase;
  assert.deepEqual([sparse(5, 25), sparse(22, 35)], [50, 80 + 50]);
});

test('what a text said before a part of a sparse table holds in it', () => {
  const batch: Batch = {
    table: {
      ...levelTable,
      sparse: true,
      columns: [...levelTable.columns, text('command', '')],
    },
    rows: 4,
    time: Float64Array.of(0, 10e6, 20e6, 30e6),
    numbers: new Map(),
    texts: new Map([['command', { values: ['', 'burn 2', 'burn 3'], codes: Uint32Array.of(1, 0, 0, 2) }]]),
    series: Uint32Array.of(0, 4),
    interval_seconds: 10,
  };
  const textsBetween = (from: number, to: number) =>
    measure(clip(batch, { from: from * 1e6, to: to * 1e6, hold: true, edges: true })).series[0]!.texts.command;
  assert.deepEqual([textsBetween(15, 25), textsBetween(25, 30)], ['burn 2', 'burn 3']);
});

/** Ticks of 10 s, some of them missing; a counter that may begin again; and stretches of time apart from each other. */
const recorded = fc.record({
  ticks: fc.array(fc.record({ keep: fc.boolean(), level: fc.integer({ min: 0, max: 9 }), more: fc.nat(50) }), {
    minLength: 4,
    maxLength: 40,
  }),
  cuts: fc.uniqueArray(fc.nat(400), { minLength: 4, maxLength: 8 }),
  sparse: fc.boolean(),
});

test('statistics of several stretches are those of each, put together: nothing of the gaps is in them', () => {
  fc.assert(
    fc.property(recorded, ({ ticks, cuts, sparse }) => {
      const kept = ticks.flatMap(({ keep }, i) => (keep ? i : []));
      let total = 0;
      const totals = ticks.map(({ more }) => {
        total = more === 0 ? 0 : total + more;
        return total;
      });
      const batch: Batch = {
        table: { ...levelTable, ...(sparse ? { sparse } : {}) },
        rows: kept.length,
        time: Float64Array.from(kept, (i) => i * 10e6),
        numbers: new Map([
          ['level', Float64Array.from(kept, (i) => (ticks[i]!.level === 0 ? Number.NaN : ticks[i]!.level))],
          ['total', Float64Array.from(kept, (i) => totals[i]!)],
        ]),
        texts: new Map(),
        series: kept.length === 0 ? Uint32Array.of(0) : Uint32Array.of(0, kept.length),
        interval_seconds: 10,
      };
      const sorted = cuts.sort((a, b) => a - b).map((cut) => cut * 1e6);
      const intervals = sorted.flatMap((cut, i) => (i % 2 === 1 ? [[sorted[i - 1]!, cut] as const] : []));
      const options = { hold: true, edges: true };
      const all = measure(clip(batch, { intervals, ...options }));
      const each = intervals.map(([from, to]) => measure(clip(batch, { from, to, ...options })));
      const sum = (values: readonly (number | undefined)[]): number | undefined =>
        values.every((value) => value === undefined) ? undefined : values.reduce<number>((a, b) => a + (b ?? 0), 0);
      const near = (a: number | undefined, b: number | undefined): void =>
        assert.ok(a === b || Math.abs(a! - b!) < 1e-6 * Math.max(1, Math.abs(b!)), `${a} is not ${b}`);
      assert.equal(all.rows, sum(each.map(({ rows }) => rows)));
      for (const name of ['level', 'total'] as const) {
        const whole = all.series[0]?.columns[name];
        const clippedColumns = each.flatMap(({ series }) => series[0]?.columns[name] ?? []);
        assert.equal(whole === undefined, clippedColumns.length === 0);
        if (whole === undefined) continue;
        assert.equal(whole.count, sum(clippedColumns.map(({ count }) => count)));
        assert.equal(whole.min, Math.min(...clippedColumns.map(({ min }) => min)));
        assert.equal(whole.max, Math.max(...clippedColumns.map(({ max }) => max)));
        assert.deepEqual([whole.first, whole.last], [clippedColumns[0]!.first, clippedColumns.at(-1)!.last]);
        near(whole.increase, sum(clippedColumns.map(({ increase }) => increase)));
        near(whole.integral, sum(clippedColumns.map(({ integral }) => integral)));
        const means = clippedColumns.map(({ mean }) => mean);
        assert.ok(whole.mean >= Math.min(...means) - 1e-9 && whole.mean <= Math.max(...means) + 1e-9);
        const rates = clippedColumns.flatMap(({ rate }) => rate ?? []);
        assert.equal(whole.rate === undefined, rates.length === 0);
        if (whole.rate === undefined) continue;
        near(whole.rate.min, Math.min(...rates.map(({ min }) => min)));
        near(whole.rate.max, Math.max(...rates.map(({ max }) => max)));
      }
    }),
    { numRuns: 400 },
  );
});

test('means are those of the time in the stretches', () => {
  const level = [...new Array(10).fill(2), ...new Array(10).fill(100), ...new Array(5).fill(8)];
  const batch: Batch = {
    table: levelTable,
    rows: level.length,
    time: Float64Array.from(level, (_, i) => i * 10e6),
    numbers: new Map([['level', Float64Array.from(level)]]),
    texts: new Map(),
    series: Uint32Array.of(0, level.length),
    interval_seconds: 10,
  };
  const intervals = [
    [0, 90e6],
    [200e6, 240e6],
  ] as const;
  const { columns, samples } = measure(clip(batch, { intervals, hold: true, edges: true })).series[0]!;
  assert.equal(samples, 15);
  assert.deepEqual([columns.level!.mean, columns.level!.p95, columns.level!.integral], [4, 8, 180 + 320]);
});
