import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import {
  appendRows,
  diskRows,
  diskTable,
  makeRecording,
  type Row,
  START,
  temporary,
} from '../../../test/make-recording.ts';
import { gauge, type Table } from '../../table/table.ts';
import { openRecording } from '../folder/open.ts';
import { sealRecording } from '../sealed/seal.ts';
import { type ReadBatch, readTable } from './read.ts';

/** The rows of a batch as objects, missing values left out. */
export function rowsOf(batch: ReadBatch): Row[] {
  return Array.from({ length: batch.rows }, (_, i) => {
    const row: Row = { time: batch.time[i]! };
    for (const [name, { codes, values }] of batch.texts) if (values[codes[i]!] !== '') row[name] = values[codes[i]!]!;
    for (const [name, values] of batch.numbers) if (!Number.isNaN(values[i])) row[name] = values[i]!;
    return row;
  });
}

const sorted = (rows: readonly Row[]): Row[] =>
  [...rows].sort((a, b) => (a.disk === b.disk ? a.time - b.time : a.disk! < b.disk! ? -1 : 1));

const plain = (rows: readonly Row[]): string[] =>
  rows.map((row) => JSON.stringify(Object.fromEntries(Object.entries(row).sort(([a], [b]) => (a < b ? -1 : 1)))));

test('live, rolled, sealed and mixed files give the same rows, by keys and time', async () => {
  const folder = await makeRecording({ seconds: 60, rollEvery: 13 });
  const expected = plain(sorted(diskRows(60)));
  const [node] = openRecording(folder).nodes;
  const live = readTable(node!, 'disk');
  assert.deepEqual(plain(rowsOf(live)), expected);
  assert.deepEqual([...live.series], [0, 60, 120]);
  assert.deepEqual(live.damage, []);

  sealRecording(openRecording(folder), { parquet: true });
  assert.deepEqual(fs.readdirSync(node!.folder).sort(), [
    'agent.json',
    'disk.parquet',
    'disk.stats.json.zst',
    'load.parquet',
    'load.stats.json.zst',
    'tables.json.zst',
  ]);
  assert.deepEqual(plain(rowsOf(readTable(node!, 'disk'))), expected);

  const more = diskRows(30, START + 60e6);
  await appendRows(node!.folder, diskTable, more, { rollEvery: 20 });
  assert.deepEqual(plain(rowsOf(readTable(node!, 'disk'))), plain(sorted([...diskRows(60), ...more])));
});

test('a part that is there twice, plain and compressed, counts once', async () => {
  const folder = await makeRecording({ seconds: 20, rollEvery: 10 });
  const [node] = openRecording(folder).nodes;
  await appendRows(path.join(folder, 'copy'), diskTable, diskRows(10));
  fs.copyFileSync(path.join(folder, 'copy', 'disk.csv'), path.join(node!.folder, 'disk.0001.csv'));
  assert.deepEqual(plain(rowsOf(readTable(node!, 'disk'))), plain(sorted(diskRows(20))));
  // the compressed form is damaged: the plain one is used
  fs.truncateSync(path.join(node!.folder, 'disk.0001.csv.zst'), 40);
  const batch = readTable(node!, 'disk');
  assert.deepEqual(plain(rowsOf(batch)), plain(sorted(diskRows(20))));
  assert.deepEqual(
    batch.damage.map((d) => path.basename(d.file)),
    ['disk.0001.csv.zst'],
  );
});

test('samples out of order are put in order, doubled ones come once', async () => {
  const folder = temporary();
  const node = path.join(folder, 'node=c1');
  fs.mkdirSync(node);
  const at = (t: number, load1: number): string => `${START + t},${load1}\n`;
  fs.writeFileSync(path.join(node, 'load.csv'), `time,load1\n${at(5, 5)}${at(1, 1)}${at(5, 6)}${at(3, 3)}`);
  const batch = readTable(openRecording(folder).nodes[0]!, 'load');
  assert.deepEqual([...batch.time], [START + 1, START + 3, START + 5]);
  assert.deepEqual([...batch.numbers.get('load1')!], [1, 3, 5]);
});

test('two events at the same moment are two, the same event in two files is one', async () => {
  const folder = await makeRecording({ seconds: 2 });
  const [node] = openRecording(folder).nodes;
  const lines = [`${START},begin,epoch 1,\n`, `${START},begin,epoch 2,\n`, `${START},fom,loss,0.25\n`];
  fs.writeFileSync(path.join(node!.folder, 'marker.csv'), `time,action,name,value\n${lines.join('')}`);
  fs.writeFileSync(path.join(node!.folder, 'marker.0001.csv'), `time,action,name,value\n${lines[1]}${lines[2]}`);
  const names = (): (string | number | undefined)[] =>
    rowsOf(readTable(openRecording(folder).nodes[0]!, 'marker', { columns: ['name'] })).map((row) => row.name);
  assert.deepEqual(names(), ['epoch 2', 'loss', 'epoch 1']);
  sealRecording(openRecording(folder), { parquet: true });
  assert.deepEqual(names(), ['epoch 2', 'loss', 'epoch 1']);
});

test('a column that came later is missing in the rows before', async () => {
  const folder = await makeRecording({ seconds: 2 });
  const wider: Table = { ...diskTable, columns: [...diskTable.columns, gauge('age_seconds', 'seconds', 'Age.')] };
  const [node] = openRecording(folder).nodes;
  await appendRows(node!.folder, wider, [{ time: START + 9e6, disk: 'sda', age_seconds: 4 }]);
  const batch = readTable(node!, 'disk', { columns: ['age_seconds'] });
  assert.deepEqual([...batch.numbers.keys()], ['age_seconds']);
  assert.deepEqual([...batch.numbers.get('age_seconds')!], [NaN, NaN, NaN, NaN, 4]);
  assert.equal(batch.table.columns.at(-1)!.unit, 'seconds');
});

test('keys that are numbers are ordered by value; two keys by the first, then the second', async () => {
  const table: Table = {
    ...diskTable,
    name: 'pair',
    keys: [
      { name: 'gpu', help: '' },
      { name: 'pid', help: '' },
    ],
    columns: [gauge('memory_bytes', 'bytes', '')],
  };
  const folder = path.join(temporary(), 'node=c1');
  const keys = [
    ['10', '7'],
    ['2', '300'],
    ['mig', '1'],
    ['2', '40'],
  ];
  const rows = [0, 1].flatMap((t) =>
    keys.map(([gpu, pid], i): Row => ({ time: START + t, gpu: gpu!, pid: pid!, memory_bytes: i })),
  );
  await appendRows(folder, table, rows);
  const agent = { format: 1, tables: [table] };
  fs.writeFileSync(path.join(folder, 'agent.json'), JSON.stringify(agent));
  const batch = readTable(openRecording(path.dirname(folder)).nodes[0]!, 'pair');
  assert.deepEqual([...batch.numbers.get('memory_bytes')!], [3, 3, 1, 1, 0, 0, 2, 2]);
  assert.deepEqual([...batch.series], [0, 2, 4, 6, 8]);
});

test('from and to are both included', async () => {
  const folder = await makeRecording({ seconds: 10 });
  const batch = readTable(openRecording(folder).nodes[0]!, 'load', { from: START + 3e6, to: START + 5e6 });
  assert.deepEqual([...batch.time], [START + 3e6, START + 4e6, START + 5e6]);
  assert.deepEqual([...batch.numbers.get('load1')!], [0.75, 1, 1.25]);
});

test('what nobody described is guessed: texts behind the time are keys, the rest are floats', () => {
  const node = path.join(temporary(), 'node=c1');
  fs.mkdirSync(node);
  fs.writeFileSync(path.join(node, 'mine.csv'), 'time,room,inlet_celsius,state\n5,hall,21.5,good\n6,hall,,bad\n');
  const batch = readTable(openRecording(path.dirname(node)).nodes[0]!, 'mine');
  assert.deepEqual(batch.table.keys, [{ name: 'room', help: '' }]);
  assert.deepEqual(
    batch.table.columns.map((c) => [c.name, c.type, c.unit]),
    [
      ['inlet_celsius', 'float', 'celsius'],
      ['state', 'text', 'none'],
    ],
  );
  assert.deepEqual(rowsOf(batch), [
    { time: 5, room: 'hall', state: 'good', inlet_celsius: 21.5 },
    { time: 6, room: 'hall', state: 'bad' },
  ]);
});

test('without agent.json a table that Tacho knows keeps its description', () => {
  const node = path.join(temporary(), 'node=c1');
  fs.mkdirSync(node);
  fs.writeFileSync(path.join(node, 'loadavg.csv'), 'time,load1,threads\n5,0.5,300\n');
  const batch = readTable(openRecording(path.dirname(node)).nodes[0]!, 'loadavg');
  assert.deepEqual(
    batch.table.columns.map((c) => [c.name, c.type]),
    [
      ['load1', 'float'],
      ['threads', 'int'],
    ],
  );
});

test('a sealed file describes itself: it is read right without agent.json', async () => {
  const folder = await makeRecording({ seconds: 3 });
  sealRecording(openRecording(folder), { parquet: true });
  for (const name of ['agent.json', 'tables.json.zst']) fs.rmSync(path.join(folder, 'node=c1', name));
  const batch = readTable(openRecording(folder).nodes[0]!, 'disk');
  assert.deepEqual(batch.table.columns, diskTable.columns);
  assert.deepEqual(plain(rowsOf(batch)), plain(sorted(diskRows(3))));
});

test('a torn last line is counted and everything before it is read', async () => {
  const folder = await makeRecording({ seconds: 5 });
  const [node] = openRecording(folder).nodes;
  fs.appendFileSync(path.join(node!.folder, 'load.csv'), `${START + 9e6},1`);
  const batch = readTable(node!, 'load');
  assert.equal(batch.rows, 5);
  assert.deepEqual(batch.damage, [
    { file: path.join(node!.folder, 'load.csv'), torn_bytes: 18, bad_lines: 0, first_bad: [] },
  ]);
});
