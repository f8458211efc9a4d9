import assert from 'node:assert/strict';
import { test } from 'node:test';
import { counter, gauge, type Table, text } from '../../table/table.ts';
import { measure } from '../sealed/measure.ts';
import type { SeriesStatistics } from '../sealed/statistics.ts';
import type { Batch } from './batch.ts';
import { clip } from './clip.ts';

const table: Table = {
  name: 't',
  help: '',
  scope: 'node',
  keys: [],
  columns: [gauge('level', 'count', ''), counter('total', 'count', '')],
};

/** One series with a sample every 10 s; times are in seconds. */
function part(total: number[], from: number, to: number, changes: Partial<Table> = {}): SeriesStatistics {
  const batch: Batch = {
    table: { ...table, ...changes },
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
  const { columns, start, end, samples } = part([0, 100, 200, 800], 5, 25);
  assert.deepEqual([start, end, samples], [5e6, 25e6, 2]);
  assert.equal(columns.total!.increase, 50 + 100 + 300);
  assert.equal(columns.total!.rate!.mean, 450 / 20);
  // levels are those of the samples, the area under them is that of the whole part
  assert.deepEqual([columns.level!.count, columns.level!.mean, columns.level!.max], [2, 1.5, 2]);
  assert.equal(columns.level!.integral, 30);
});

test('a part between two samples has none of its own; its levels are what lies between them', () => {
  const { columns, samples } = part([0, 100, 200], 12, 16);
  assert.deepEqual([samples, columns.total!.increase, columns.level!.mean.toFixed(6)], [0, 40, '1.400000']);
});

test('a counter that began again at the edge of a part', () => {
  assert.equal(part([500, 100, 200, 300], 4, 20).columns.total!.increase, 60 + 100);
  assert.equal(part([500, 600, 100, 200], 5, 14).columns.total!.increase, 50 + 40);
  assert.equal(part([500, 100, 200], 2, 4).columns.total!.increase, 20);
});

test('in a sparse table a step lies in the interval before its row', () => {
  const rows = [0, 0, 0, 100, 200];
  const sparse = (from: number, to: number) => part(rows, from, to, { sparse: true }).columns.total!.increase;
  assert.deepEqual([sparse(5, 25), sparse(22, 35)], [50, 80 + 50]);
});

test('what a text said before a part of a sparse table holds in it', () => {
  const batch: Batch = {
    table: {
      ...table,
      sparse: true,
      columns: [...table.columns, text('command', '')],
    },
    rows: 4,
    time: Float64Array.of(0, 10e6, 20e6, 30e6),
    numbers: new Map(),
    texts: new Map([['command', { values: ['', 'burn 2', 'burn 3'], codes: Uint32Array.of(1, 0, 0, 2) }]]),
    series: Uint32Array.of(0, 4),
    interval_seconds: 10,
  };
  const said = (from: number, to: number) =>
    measure(clip(batch, { from: from * 1e6, to: to * 1e6, hold: true, edges: true })).series[0]!.texts.command;
  assert.deepEqual([said(15, 25), said(25, 30)], ['burn 2', 'burn 3']);
});
