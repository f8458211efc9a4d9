import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { zstdDecompressSync } from 'node:zlib';
import { agentOf, diskTable, loadTable, makeRecording } from '../../../test/make-recording.ts';
import { readTable } from '../read/read.ts';
import { verifyRecording } from '../repair/verify.ts';
import { packText } from '../sealed/pack-text.ts';
import { sealRecording } from '../sealed/seal.ts';
import { openRecording } from './open.ts';
import { withTables } from './tables-file.ts';

const gauges = { ...loadTable, help: 'Another help.' };

/** Three nodes, of which the last describes a table in another way. */
async function three(): Promise<string> {
  const folder = await makeRecording({ seconds: 3, nodes: ['c1', 'c2', 'c3'] });
  fs.writeFileSync(path.join(folder, 'node=c3/agent.json'), JSON.stringify(agentOf('c3', [diskTable, gauges])));
  return folder;
}

const foldersWithTables = (folder: string): string[] =>
  ['', 'node=c1', 'node=c2', 'node=c3'].filter((folderName) =>
    fs.existsSync(path.join(folder, folderName, 'tables.json.zst')),
  );

const tablesIn = (folder: string) =>
  openRecording(folder).nodes.map(({ agent, described }) => agent?.tables ?? described);

test('nodes that describe their tables alike have it once, the others beside their own', async () => {
  const folder = await three();
  sealRecording(openRecording(folder));
  assert.deepEqual(foldersWithTables(folder), ['', 'node=c3']);
  const alike = [diskTable, loadTable];
  assert.deepEqual(tablesIn(folder), [alike, alike, [diskTable, gauges]]);
  for (const [node, tables] of [
    ['c1', alike],
    ['c3', [diskTable, gauges]],
  ] as const) {
    const nodePath = path.join(folder, `node=${node}`);
    const record = JSON.parse(fs.readFileSync(path.join(nodePath, 'agent.json'), 'utf8'));
    assert.deepEqual([record.tables, withTables(record, nodePath)?.tables], [[], tables]);
  }
  assert.deepEqual(verifyRecording(folder), []);
  // what has lost its agent.json is described all the same
  fs.rmSync(path.join(folder, 'node=c2/agent.json'));
  assert.deepEqual(tablesIn(folder)[1], alike);
  assert.equal(readTable(openRecording(folder).nodes[1]!, 'disk').rows, 6);
});

test('a node that says something else the next time gets what it says', async () => {
  const folder = await three();
  sealRecording(openRecording(folder));
  fs.writeFileSync(path.join(folder, 'node=c1/agent.json'), JSON.stringify(agentOf('c1', [diskTable, gauges])));
  fs.writeFileSync(path.join(folder, 'node=c3/agent.json'), JSON.stringify(agentOf('c3', [diskTable, loadTable])));
  sealRecording(openRecording(folder));
  assert.deepEqual(foldersWithTables(folder), ['', 'node=c1']);
  const alike = [diskTable, loadTable];
  assert.deepEqual(tablesIn(folder), [[diskTable, gauges], alike, alike]);
});

test('what is damaged is told once, and no other node relies on it', async () => {
  const folder = await three();
  sealRecording(openRecording(folder));
  const file = path.join(folder, 'tables.json.zst');
  fs.writeFileSync(file, packText('{"tables": 1}'));
  assert.deepEqual(openRecording(folder).troubles, [`cannot read ${file}: it is damaged`]);
  fs.writeFileSync(path.join(folder, 'node=c2/agent.json'), JSON.stringify(agentOf('c2', [diskTable, loadTable])));
  sealRecording(openRecording(folder));
  assert.deepEqual(foldersWithTables(folder), ['', 'node=c2', 'node=c3']);
  const [one] = verifyRecording(folder);
  assert.deepEqual([one?.file, one?.outcome], ['tables.json.zst', 'repaired']);
  assert.deepEqual(foldersWithTables(folder), ['node=c2', 'node=c3']);
});

test('a recording of one node has it in the folder of the node', async () => {
  const folder = await makeRecording({ seconds: 3 });
  sealRecording(openRecording(folder));
  assert.deepEqual(foldersWithTables(folder), ['node=c1']);
});

/** What the file of a node says of the keys and columns of its tables, by table. */
const storedNames = (file: string) =>
  (
    JSON.parse(zstdDecompressSync(fs.readFileSync(file)).toString()) as {
      tables: { name: string; keys: { name?: string }[]; columns: { name?: string }[] }[];
    }
  ).tables.map(({ name, keys, columns }) => [name, [...keys, ...columns].map((each) => each.name)]);

test('names that stand in the header of a CSV file are left out, and read from there', async () => {
  const folder = await makeRecording({ seconds: 3 });
  sealRecording(openRecording(folder));
  const file = path.join(folder, 'node=c1/tables.json.zst');
  const nothing = (table: typeof diskTable | typeof loadTable): undefined[] =>
    [...table.keys, ...table.columns].map(() => undefined);
  assert.deepEqual(storedNames(file), [
    ['disk', nothing(diskTable)],
    ['load', nothing(loadTable)],
  ]);
  assert.deepEqual(tablesIn(folder), [[diskTable, loadTable]]);
  assert.deepEqual(verifyRecording(folder), []);
});

test('a table whose CSV file became a Parquet file has its names beside it', async () => {
  const folder = await makeRecording({ seconds: 3 });
  sealRecording(openRecording(folder));
  sealRecording(openRecording(folder), { parquet: true });
  const names = (table: typeof diskTable | typeof loadTable): string[] =>
    [...table.keys, ...table.columns].map(({ name }) => name);
  assert.deepEqual(storedNames(path.join(folder, 'node=c1/tables.json.zst')), [
    ['disk', names(diskTable)],
    ['load', names(loadTable)],
  ]);
  assert.deepEqual(tablesIn(folder), [[diskTable, loadTable]]);
});

test('a table whose file has gone, or would lie elsewhere, has no names', async () => {
  const folder = await makeRecording({ seconds: 3 });
  sealRecording(openRecording(folder));
  const node = path.join(folder, 'node=c1');
  const file = path.join(node, 'tables.json.zst');
  const stored = JSON.parse(zstdDecompressSync(fs.readFileSync(file)).toString()) as object;
  fs.rmSync(path.join(node, 'load.csv.zst'));
  // with other names than those that were read last
  fs.writeFileSync(file, packText(JSON.stringify({ ...stored, names: 'others' })));
  assert.deepEqual(tablesIn(folder), [[diskTable]]);
  fs.writeFileSync(path.join(folder, 'stolen.csv.zst'), packText('time,a\n'));
  const columns = [{ type: 'int', unit: 'count', kind: 'gauge' }];
  const stolen = { name: '../stolen', help: '', scope: 'node', keys: [], columns };
  fs.writeFileSync(file, packText(JSON.stringify({ tables: [stolen] })));
  assert.deepEqual(tablesIn(folder), [[]]);
});
