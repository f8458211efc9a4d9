import assert from 'node:assert/strict';
import { test } from 'node:test';
import { counter, gauge, type Table, text } from '../../table/table.ts';
import { coarsen } from './coarsen.ts';
import { batchOf } from './fixture.ts';

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

test('means keep three digits more than the values', () => {
  const rows = [1, 2, 2].map((busy_percent, i) => ({ time: i * 1e6, gpu: '0', busy_percent }));
  const coarse = coarsen(batchOf(table, rows), 60e6, 1e6);
  assert.deepEqual([...coarse.numbers.get('busy_percent')!], [1.667]);
  assert.equal(coarse.table.columns[0]!.decimals, 3);
});
