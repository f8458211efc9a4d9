import assert from 'node:assert/strict';
import { test } from 'node:test';
import { batchOf, memoryOutput, type Row, stream } from '../../../test/made/export-recording.ts';
import { tickOf } from '../../recording/read/buckets.ts';
import { counter, gauge, type Table } from '../../table/table.ts';
import type { NodeBatch } from './node-batch.ts';
import { type Lane, lanesOf, type WideForm, writeWide } from './wide.ts';

const table: Table = {
  name: 'disk',
  help: '',
  scope: 'node',
  keys: [{ name: 'disk', help: '' }],
  columns: [counter('read_bytes', 'bytes', ''), gauge('busy_percent', 'percent', '', 'float', 1)],
};
const START = Date.UTC(2026, 0, 1) * 1000;
const row = (seconds: number, disk: string, read_bytes: number, busy_percent = Number.NaN): Row => ({
  time: START + seconds * 1e6,
  disk,
  read_bytes,
  busy_percent,
});

function form(nodeBatches: readonly NodeBatch[], more: Partial<WideForm> = {}): WideForm {
  return {
    table,
    metrics: table.columns,
    lanes: lanesOf(nodeBatches),
    interval: 1e6,
    levels: ['metric', 'node', 'disk'],
    names: (lane: Lane) => [lane.node, ...lane.keys],
    index: 'time',
    time: 'iso',
    ...more,
  };
}

test('a row a tick and a column a metric, node and key; nodes whose clocks differ by a little meet in one row', async () => {
  const nodeBatches: NodeBatch[] = [
    { job: '1', node: 'n10', batch: batchOf(table, [row(0.004, 'sda', 10, 0.5), row(1.003, 'sda', 20, 1)]) },
    {
      job: '1',
      node: 'n9',
      batch: batchOf(table, [row(-0.001, 'sdb', 1), row(1.4, 'sdb', 2, 99.9), row(2, 'sdb', 3), row(0.001, 'sdc', 7)]),
    },
  ];
  const output = memoryOutput();
  const rows = await writeWide(output, form(nodeBatches), stream(nodeBatches));
  assert.equal(rows, 3);
  assert.equal(
    output.text(),
    'metric,read_bytes,read_bytes,read_bytes,busy_percent,busy_percent,busy_percent\n' +
      'node,n9,n9,n10,n9,n9,n10\n' +
      'disk,sdb,sdc,sda,sdb,sdc,sda\n' +
      'time,,,,,,\n' +
      '2026-01-01T00:00:00Z,1,7,10,,,0.5\n' +
      '2026-01-01T00:00:01Z,2,,20,99.9,,1\n' +
      '2026-01-01T00:00:02Z,3,,,,,\n',
  );
});

test('of two samples in one tick the newer is taken, and ticks without any sample have no row', async () => {
  const nodeBatches: NodeBatch[] = [
    { job: '1', node: 'a', batch: batchOf(table, [row(0, 'x', 1), row(0.5, 'x', 2), row(60, 'x', 3)]) },
  ];
  const output = memoryOutput();
  await writeWide(
    output,
    form(nodeBatches, { time: 'naive', floats: true, metrics: table.columns.slice(0, 1) }),
    stream(nodeBatches),
  );
  assert.deepEqual(output.text().split('\n').slice(4), ['2026-01-01 00:00:00,2.0', '2026-01-01 00:01:00,3.0', '']);
});

test('windows of time give the same file as one piece', async () => {
  const rows = Array.from({ length: 20 }, (_, i) => row(i, 'x', i * i, i / 10));
  const whole: NodeBatch[] = [{ job: '1', node: 'a', batch: batchOf(table, rows) }];
  const batchGroups = [rows.slice(0, 7), rows.slice(7, 8), rows.slice(8)].map((some): NodeBatch[] => [
    { job: '1', node: 'a', batch: batchOf(table, some) },
  ]);
  const one = memoryOutput();
  const many = memoryOutput();
  await writeWide(one, form(whole), stream(whole));
  await writeWide(many, form(whole), stream(...batchGroups));
  assert.equal(many.text(), one.text());
});

test('a sparse table holds a sample until the next one, and not beyond the last', async () => {
  const sparse: Table = { ...table, sparse: true };
  const nodeBatches: NodeBatch[] = [
    { job: '1', node: 'a', batch: batchOf(sparse, [row(0, 'x', 1), row(3, 'x', 4)]) },
    {
      job: '1',
      node: 'b',
      batch: batchOf(
        sparse,
        [1, 2, 3, 4].map((s) => row(s, 'x', s)),
      ),
    },
  ];
  const output = memoryOutput();
  const metrics = table.columns.slice(0, 1);
  await writeWide(output, form(nodeBatches, { table: sparse, metrics, time: 'epoch' }), stream(nodeBatches));
  const cells = output
    .text()
    .trimEnd()
    .split('\n')
    .slice(4)
    .map((line) => line.slice(line.indexOf(',') + 1));
  assert.deepEqual(cells, ['1,', '1,1', '1,2', '4,3', ',4']);
});

test('a tick begins a little early, because agents may wake early', () => {
  assert.equal(tickOf(5_000_000, 1e6), 5);
  assert.equal(tickOf(4_999_000, 1e6), 5);
  assert.equal(tickOf(5_890_000, 1e6), 5);
  assert.equal(tickOf(5_910_000, 1e6), 6);
  assert.equal(tickOf(9_800_000, 10e6, 1e6), 0);
  assert.equal(tickOf(9_999_000, 10e6, 1e6), 1);
});

test('intervals below a second show milliseconds', async () => {
  const nodeBatches: NodeBatch[] = [
    { job: '1', node: 'a', batch: batchOf(table, [row(0, 'x', 1), row(0.25, 'x', 2)]) },
  ];
  const output = memoryOutput();
  const metrics = table.columns.slice(0, 1);
  await writeWide(output, form(nodeBatches, { metrics, interval: 250_000 }), stream(nodeBatches));
  assert.deepEqual(output.text().split('\n').slice(4, 6), ['2026-01-01T00:00:00.000Z,1', '2026-01-01T00:00:00.250Z,2']);
});
