import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rangeByKey } from '../../web/src/charts/range-by-key.ts';
import type { ChartData } from './chart-data.ts';
import { dataCsv } from './data-csv.ts';

const DATA: ChartData = {
  id: 'cpu',
  title: 'CPU',
  unit: 'percent',
  scope: 'job',
  source: '',
  from: 5e6,
  step: 2e6,
  as: 'lines',
  count: 2,
  series: [
    { node: 'first, long', mean: [1, null, 0.1 + 0.2] },
    { node: 'second', key: '0', mean: [null, null, 4] },
  ],
};

test('the values of a chart: a row for each step that has any', () => {
  assert.equal(dataCsv(DATA, { start: 4e6 }), 'seconds,"first, long",second 0\n1,1,\n5,0.3,4\n');
  assert.equal(dataCsv(DATA, { start: 0, across: 'progress' }).split('\n')[1], '5,1,');
  assert.equal(dataCsv(DATA, { start: 0, across: 'date' }).split('\n')[1], '1970-01-01T00:00:05.000Z,1,');
});

test('keys choose a part of the time, never more than all of it', () => {
  const whole = { from: 0, to: 80e6 };
  const by = (key: string, from: number, to: number) => rangeByKey(key, { from: from * 1e6, to: to * 1e6 }, whole);
  assert.deepEqual(by('+', 0, 80), { from: 20e6, to: 60e6 });
  assert.deepEqual(by('-', 20, 60), whole);
  assert.deepEqual(by('-', 60, 80), { from: 40e6, to: 80e6 });
  assert.deepEqual(by('ArrowLeft', 10, 50), { from: 0, to: 40e6 });
  assert.deepEqual(by('ArrowRight', 10, 50), { from: 20e6, to: 60e6 });
  assert.deepEqual(by('Home', 10, 50), whole);
  assert.deepEqual(by('+', 10, 11), { from: 10.25e6, to: 11.25e6 });
  assert.equal(by('x', 10, 50), undefined);
});
