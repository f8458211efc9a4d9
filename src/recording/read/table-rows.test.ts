import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gauge, type Table, text } from '../../table/table.ts';
import { TableRows } from './table-rows.ts';

const table: Table = {
  name: 'gpu',
  help: '',
  scope: 'node',
  keys: [{ name: 'gpu', help: '' }],
  columns: [gauge('power', 'watts', ''), gauge('clock', 'count', ''), gauge('never', 'count', ''), text('model', '')],
};

const samples = (times: number[], values: number[]) => ({
  times: Float64Array.from(times),
  values: Float64Array.from(values),
});

test('samples of the same moment are one row, texts hold on, columns without values are left out', () => {
  const rows = new TableRows(table);
  rows.add({ gpu: '1' }, 'power', samples([10, 20, 30], [1, 2, 3]));
  rows.add({ gpu: '1' }, 'clock', samples([20, 40], [7, 8]));
  rows.add({ gpu: '0' }, 'power', samples([20], [9]));
  rows.add({ gpu: '0' }, 'power', samples([10], [8]));
  rows.say({ gpu: '1' }, { time: 20, texts: { model: 'A' } });
  rows.say({ gpu: '1' }, { time: 35, texts: { model: 'B' } });
  const batch = rows.batch();
  assert.deepEqual(
    batch.table.columns.map(({ name }) => name),
    ['power', 'clock', 'model'],
  );
  assert.deepEqual([...batch.series], [0, 2, 6]);
  assert.deepEqual([...batch.time], [10e3, 20e3, 10e3, 20e3, 30e3, 40e3]);
  assert.deepEqual([...batch.numbers.get('power')!], [8, 9, 1, 2, 3, Number.NaN]);
  assert.deepEqual([...batch.numbers.get('clock')!], [Number.NaN, Number.NaN, Number.NaN, 7, Number.NaN, 8]);
  const model = batch.texts.get('model')!;
  assert.deepEqual(
    [...model.codes].map((code) => model.values[code]),
    ['', '', '', 'A', 'A', 'B'],
  );
});
