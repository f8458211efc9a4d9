import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { makeRecording, START } from '../../test/make-recording.ts';
import { findRecordings, openRecording } from '../recording/folder/open.ts';
import { sealRecording } from '../recording/sealed/seal.ts';
import { summarise } from './summarise.ts';

test('a sealed recording is summarised from what seal left, without reading a Parquet file', async () => {
  const folder = await makeRecording({ seconds: 60, nodes: ['c1', 'c2'] });
  const live = summarise([openRecording(folder)])[0]!.nodes.map((node) => node.tables);
  sealRecording(openRecording(folder), { parquet: true });
  for (const node of ['c1', 'c2']) fs.writeFileSync(path.join(folder, `node=${node}`, 'disk.parquet'), 'not read');
  const sealed = summarise([openRecording(folder)])[0]!.nodes.map((node) => node.tables);
  assert.deepEqual(sealed, live);
  const [, sda] = sealed[0]!.get('disk')!.series;
  assert.deepEqual(sda!.keys, { disk: 'sda' });
  assert.equal(sda!.columns.read_bytes!.increase, 59 * 4096);
  assert.equal(sda!.columns.busy_percent!.p50, 4.75);
});

test('a range is computed from the samples in it, sealed or not', async () => {
  const folder = await makeRecording({ seconds: 60 });
  const range = { from: START + 10e6, to: START + 19e6, tables: ['load'] };
  const of = () => summarise([openRecording(folder)], range)[0]!.nodes[0]!.tables;
  const live = of();
  sealRecording(openRecording(folder), { parquet: true });
  assert.deepEqual(of(), live);
  assert.deepEqual([...live.keys()], ['load']);
  const { load1 } = live.get('load')!.series[0]!.columns;
  assert.deepEqual([load1!.count, load1!.min, load1!.max], [10, 2.5, 4.75]);
});

test('several recordings are summarised side by side; damaged statistics are computed again', async () => {
  const one = await makeRecording({ seconds: 5 });
  const other = await makeRecording({ seconds: 7, job: { id: '18' } });
  sealRecording(openRecording(other), { parquet: true });
  fs.writeFileSync(path.join(other, 'node=c1', 'load.stats.json.zst'), '{"tab');
  const summaries = summarise(findRecordings([one, other]));
  assert.deepEqual(
    summaries.map((summary) => [summary.recording.job.id, summary.nodes[0]!.tables.get('load')!.rows]),
    [
      ['17', 5],
      ['18', 7],
    ],
  );
});

test('statistics that are not of this sealed file are computed again; a changed byte is told', async () => {
  const short = await makeRecording({ seconds: 5 });
  const long = await makeRecording({ seconds: 7 });
  const node = (folder: string, file: string) => path.join(folder, 'node=c1', file);
  for (const folder of [short, long]) sealRecording(openRecording(folder), { parquet: true });
  const loadOf = () => {
    const { tables, damage } = summarise([openRecording(short)])[0]!.nodes[0]!;
    return [tables.get('load')!.rows, damage.map(({ table, unreadable }) => `${table}: ${unreadable}`)];
  };
  fs.copyFileSync(node(long, 'load.parquet'), node(short, 'load.parquet'));
  assert.deepEqual(loadOf(), [7, []]);
  fs.copyFileSync(node(long, 'load.stats.json.zst'), node(short, 'load.stats.json.zst'));
  const bytes = fs.readFileSync(node(short, 'load.parquet'));
  // the last byte before the footer is the last column's
  bytes[bytes.length - 8 - bytes.readUInt32LE(bytes.length - 8) - 1]! ^= 1;
  fs.writeFileSync(node(short, 'load.parquet'), bytes);
  assert.deepEqual(loadOf(), [7, ['load: column load1 is damaged (checksum); only its statistics are left']]);
  fs.rmSync(node(short, 'load.parquet'));
  assert.deepEqual(loadOf(), [7, ['load: it is missing; only its statistics are left']]);
});
