import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { JOB_CHARTS } from '../src/charts/job-charts.ts';
import type { NodeRecording } from '../src/recording/folder/open.ts';
import { readDefined } from '../src/recording/read/read.ts';
import { sources } from '../src/sources/index.ts';
import * as tables from '../src/sources/tables.ts';
import { NO_LABELS } from '../src/table/names.ts';

const SRC = path.join(import.meta.dirname, '../src');
const RULES = path.join(SRC, 'judge/rules');

test('rules name columns by their definitions, not in words: a renamed one is an error of types', () => {
  const names = Object.values(tables).map(({ name }) => name);
  const column = new RegExp(`'[^'\\n]*\\b(?:${names.join('|')})\\.(?!(?:json|ts)\\b)\\w+[^'\\n]*'`);
  for (const file of fs
    .readdirSync(RULES, { recursive: true, encoding: 'utf8' })
    .filter((name) => /(?<!\.test)\.ts$/.test(name)))
    assert.doesNotMatch(fs.readFileSync(path.join(RULES, file), 'utf8'), column, file);
});

test('what was read of processes and samples is asked for by definitions', () => {
  for (const file of fs.globSync('**/*.ts', { cwd: SRC, exclude: ['**/*.test.ts'] }))
    assert.doesNotMatch(fs.readFileSync(path.join(SRC, file), 'utf8'), /\b(?:metrics|points)\.get\('\w+'\)/, file);
});

test('only columns of its definition can be asked of a table that was read', () => {
  const read = (node: NodeRecording) => {
    const { numbers, texts } = readDefined(node, tables.cgroupTable);
    // @ts-expect-error: the table has no such column
    numbers.get('use_us');
    // @ts-expect-error
    return texts.has('use') || numbers.get('usage_us');
  };
  assert.equal(read.length, 1);
});

test('texts that are no labels are texts of their tables', () => {
  for (const [name, texts] of Object.entries(NO_LABELS)) {
    const table = Object.values(tables).find((one) => one.name === name);
    const textColumns = table?.columns.flatMap((column) => (column.type === 'text' ? column.name : []));
    assert.deepEqual(
      texts.filter((text) => !textColumns?.some((one) => one === text)),
      [],
    );
  }
});

test('the definitions of all sources are at hand without them', () => {
  const names = Object.values(tables).map(({ name }) => name as string);
  const tableNames = sources.map(({ table }) => table.name);
  const monitor = names.filter((name) => name.startsWith('dask_'));
  assert.deepEqual(monitor.toSorted(), ['dask_gpu', 'dask_graph', 'dask_metric', 'dask_task', 'dask_worker']);
  assert.deepEqual(names.toSorted(), [...tableNames, ...monitor, tables.agentTable.name].toSorted());
});

test('charts are beside the evidence of columns that there are', () => {
  const knownNames = new Set(
    Object.values(tables).flatMap((table) => table.columns.map(({ name }) => `${table.name}.${name}`)),
  );
  const named = JOB_CHARTS.flatMap(({ about = [] }) => about).filter((each) => /^\w+\.\w+$/.test(each));
  assert.ok(named.length > 10);
  assert.deepEqual(
    named.filter((each) => !knownNames.has(each)),
    [],
  );
});

test('charts tell series apart by keys of their tables', () => {
  const wrong = JOB_CHARTS.flatMap(({ id, key = '', sources: all }) =>
    all.flatMap((source) => {
      if (!('column' in source)) return [];
      const { column, keys, without } = source;
      const wanted = [...key.split(' ').filter(Boolean), ...Object.keys({ ...keys, ...without })];
      return wanted
        .filter((one) => !column.keys.some(({ name }) => name === one))
        .map((one) => `${id}: ${column.table} has no key ${one}`);
    }),
  );
  assert.deepEqual(wrong, []);
});

test('what nodes do now is read from columns that are named by their definitions', () => {
  const text = fs.readFileSync(path.join(RULES, '../../query/now/node-now.ts'), 'utf8');
  assert.deepEqual(text.match(/\b(?:get|rate)\([^)]*'\w*_(?:us|ms|bytes|percent|watts)'/g), null);
});
