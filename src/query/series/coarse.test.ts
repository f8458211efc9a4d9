import assert from 'node:assert/strict';
import { test } from 'node:test';
import { batchOf } from '../../../test/made/export-recording.ts';
import { counter, gauge, type Table, text } from '../../table/table.ts';
import { coarse as coarsen } from './coarse.ts';

const table: Table = {
  name: 'gpu',
  help: '',
  scope: 'node',
  keys: [{ name: 'gpu', help: '' }],
  columns: [gauge('busy_percent', 'percent', ''), counter('energy_mj', 'millijoules', ''), text('state', '')],
};

test('means of gauges, last values of counters and texts, for each series on its own', () => {
  const rows = [
    { time: 0, gpu: '0', busy_percent: 10, energy_mj: 5, state: 'a' },
    { time: 1e6, gpu: '0', busy_percent: 20, energy_mj: 7, state: 'b' },
    { time: 2e6, gpu: '0', busy_percent: 21, state: 'c' },
    // one that woke a little early belongs to the next interval
    { time: 9.9995e6, gpu: '0', busy_percent: 100, energy_mj: 9, state: 'd' },
    { time: 0.5e6, gpu: '1', energy_mj: 1, state: 'e' },
    { time: 29e6, gpu: '1', busy_percent: 50, state: 'f' },
  ];
  const coarse = coarsen(batchOf(table, rows), 10e6, 1e6);
  assert.deepEqual([...coarse.time], [0, 10e6, 0, 20e6]);
  assert.deepEqual([...coarse.series], [0, 2, 4]);
  assert.deepEqual([...coarse.numbers.get('busy_percent')!], [17, 100, Number.NaN, 50]);
  assert.deepEqual([...coarse.numbers.get('energy_mj')!], [7, 9, 1, Number.NaN]);
  const { codes, values } = coarse.texts.get('state')!;
  assert.deepEqual(
    [...codes].map((code) => values[code]),
    ['c', 'd', 'e', 'f'],
  );
});

test('with the extremes of each step a spike of one sample is there', () => {
  const rows = [1, 100, 2, 3].map((busy_percent, i) => ({ time: i * 5e6, gpu: '0', busy_percent, energy_mj: 10 ** i }));
  const { numbers, table: described } = coarsen(batchOf(table, rows), 10e6, 5e6, { rates: true, extremes: true });
  const of = (name: string): number[] => [...numbers.get(name)!];
  assert.deepEqual(
    [of('busy_percent'), of('busy_percent_min'), of('busy_percent_max')],
    [
      [50.5, 2.5],
      [1, 2],
      [100, 3],
    ],
  );
  assert.deepEqual(
    [of('energy_mj_min'), of('energy_mj_max')],
    [
      [1.8, 18],
      [1.8, 180],
    ],
  );
  assert.deepEqual(
    described.columns.map(({ name }) => name),
    ['busy_percent', 'busy_percent_min', 'busy_percent_max', 'energy_mj', 'energy_mj_min', 'energy_mj_max', 'state'],
  );
});

test('means keep three digits more than the values', () => {
  const rows = [1, 2, 2].map((busy_percent, i) => ({ time: i * 1e6, gpu: '0', busy_percent }));
  const coarse = coarsen(batchOf(table, rows), 60e6, 1e6);
  assert.deepEqual([...coarse.numbers.get('busy_percent')!], [1.667]);
  assert.equal(coarse.table.columns[0]!.decimals, 3);
});

test('values count for the time that they held: looks in a row do not weigh more', () => {
  const busy = (times: number[], values: number[], changes: Partial<Table> = {}) => {
    const rows = times.map((time, i) => ({ time: time * 1e6, gpu: '0', busy_percent: values[i] }));
    return [...coarsen(batchOf({ ...table, ...changes }, rows), 10e6, 1e6).numbers.get('busy_percent')!];
  };
  // 0 for half a second, 90 for 1 s and a mean step of 0.375 s
  assert.deepEqual(busy([0, 0.1, 0.2, 0.5, 1.5], [0, 0, 0, 90, 90]), [66]);
  // a sparse table has rows only where something changed
  assert.deepEqual(busy([0, 2, 11, 12], [10, 20, 100, 10], { sparse: true }), [18, 20]);
});

test('counters as rates: what they grew by in a second, restarts and all', () => {
  const rows = [0, 5, 10, 40, 2, 4].map((energy_mj, i) => ({ time: i * 1e6, gpu: '0', energy_mj }));
  const batch = { ...batchOf(table, rows), interval_seconds: 1 };
  const rates = coarsen(batch, 2e6, 1e6, { rates: true });
  assert.deepEqual([...rates.time], [0, 2e6, 4e6]);
  assert.deepEqual([...rates.numbers.get('energy_mj')!], [5, 17.5, 2]);
  const { kind, type, decimals } = rates.table.columns[1]!;
  assert.deepEqual([kind, type, decimals], ['gauge', 'float', 3]);
});
