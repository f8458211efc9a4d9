import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { appendRows, type Row, START, temporary } from '../../test/make-recording.ts';
import { type NodeRecording, openRecording } from '../recording/open.ts';
import { counter, gauge, type Table } from '../table/table.ts';
import { type Resampled, resample } from './resample.ts';

const table: Table = {
  name: 'card',
  help: '',
  scope: 'node',
  keys: [{ name: 'card', help: '' }],
  columns: [gauge('power_watts', 'watts', '', 'float', 1), counter('energy_mj', 'millijoules', '')],
};

async function nodeOf(rows: readonly Row[], changes: Partial<Table> = {}): Promise<NodeRecording> {
  const folder = path.join(temporary(), 'node=c1');
  const changed = { ...table, ...changes };
  await appendRows(folder, changed, rows);
  fs.writeFileSync(path.join(folder, 'agent.json'), JSON.stringify({ format: 1, tables: [changed] }));
  return openRecording(path.dirname(folder)).nodes[0]!;
}

const at = (second: number, power: number, energy: number, card = '0'): Row => ({
  time: START + second * 1e6,
  card,
  power_watts: power,
  energy_mj: energy,
});

const times = (found: Resampled): number[] => [...found.time].map((t) => (t - START) / 1e6);
const values = (found: Resampled, column: string, series = 0): number[] => [
  ...found.series[series]!.columns.get(column)!,
];

test('samples go to the nearest point: gauges as means, counters as rates, gaps stay missing', async () => {
  const node = await nodeOf([
    at(0, 10, 0),
    at(1.01, 20, 1000),
    at(1.4, 40, 1390),
    at(1.99, 30, 3000),
    at(5, 50, 6010),
    at(6, 60, 5),
  ]);
  const found = resample(node, 'card', { interval: 1 });
  assert.deepEqual(times(found), [0, 1, 2, 3, 4, 5, 6]);
  assert.deepEqual(values(found, 'power_watts'), [10, 30, 30, NaN, NaN, 50, 60]);
  assert.deepEqual(
    values(found, 'energy_mj').map((v) => Math.round(v)),
    [NaN, Math.round(1390 / 1.4), Math.round(1610 / 0.59), NaN, NaN, 1000, 5],
  );
});

test('a coarser grid over a range: points are whole multiples of the interval, whatever the range', async () => {
  const node = await nodeOf(Array.from({ length: 100 }, (_, t) => at(t, t, t * 500)));
  const found = resample(node, 'card', {
    columns: ['power_watts'],
    interval: 10,
    from: START + 22e6,
    to: START + 58e6,
  });
  assert.ok([...found.time].every((t) => t % 10e6 === 0));
  // START is two seconds behind such a multiple
  assert.deepEqual(times(found), [18, 28, 38, 48, 58]);
  assert.deepEqual([...found.series[0]!.columns.keys()], ['power_watts']);
  const [point] = values(found, 'power_watts').slice(2);
  assert.equal(point, times(found)[2]! - 0.5);
});

test('in a sparse table values hold until the next row, and nothing holds beyond the last', async () => {
  const node = await nodeOf([at(0, 10, 0), at(4, 20, 4000), at(6, 20, 4000)], {
    sparse: true,
  });
  const found = resample(node, 'card', { interval: 1, from: START, to: START + 8e6 });
  assert.deepEqual(values(found, 'power_watts'), [10, 10, 10, 10, 15, 20, 20, NaN, NaN]);
  assert.deepEqual(values(found, 'energy_mj'), [1000, 1000, 1000, 1000, 500, 0, 0, NaN, NaN]);
  const late = resample(node, 'card', { interval: 1, from: START + 2e6, to: START + 3e6 });
  assert.deepEqual(values(late, 'power_watts'), [10, 10]);
});

test('every series has its own values on the common grid', async () => {
  const node = await nodeOf([at(0, 1, 0), at(0, 5, 0, '1'), at(1, 2, 0)]);
  const found = resample(node, 'card', { columns: ['power_watts'], interval: 1 });
  assert.deepEqual(
    found.series.map((s) => s.keys),
    [{ card: '0' }, { card: '1' }],
  );
  assert.deepEqual(values(found, 'power_watts', 0), [1, 2]);
  assert.deepEqual(values(found, 'power_watts', 1), [5, NaN]);
});

test('a table without samples has no points', async () => {
  const node = await nodeOf([at(0, 1, 0)]);
  const found = resample(node, 'card', { interval: 1, from: START + 100e6 });
  assert.equal(found.time.length, 0);
  assert.deepEqual(resample(node, 'absent', { interval: 1 }), { time: new Float64Array(0), series: [] });
});
