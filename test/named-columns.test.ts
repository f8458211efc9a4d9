import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { sources } from '../src/sources/index.ts';
import * as tables from '../src/sources/tables.ts';
import { NO_LABELS } from '../src/table/names.ts';

const FINDINGS = path.join(import.meta.dirname, '../src/judge/rules');

test('columns that findings name in words are columns', () => {
  const named: string[] = [];
  for (const file of fs.readdirSync(FINDINGS)) {
    const text = fs.readFileSync(path.join(FINDINGS, file), 'utf8');
    for (const [words] of text.matchAll(/'[^'\n]*'/g))
      for (const table of Object.values(tables))
        for (const [, column] of words.matchAll(new RegExp(`\\b${table.name}\\.(?!(?:json|ts)\\b)(\\w+)`, 'g'))) {
          named.push(`${table.name}.${column}`);
          assert.ok(Object.hasOwn(table.col, column!), `${file}: ${table.name} has no column ${column}`);
        }
  }
  assert.ok(named.includes('gpu.utilization_percent') && named.includes('process.swap_bytes'));
});

test('texts that are no labels are texts of their tables', () => {
  for (const [name, texts] of Object.entries(NO_LABELS)) {
    const table = Object.values(tables).find((one) => one.name === name);
    const known = table?.columns.flatMap((column) => (column.type === 'text' ? column.name : []));
    assert.deepEqual(
      texts.filter((text) => !known?.some((one) => one === text)),
      [],
    );
  }
});

test('the definitions of all sources are at hand without them', () => {
  const names = Object.values(tables).map(({ name }) => name as string);
  const known = sources.map(({ table }) => table.name);
  assert.deepEqual(names.toSorted(), [...known, tables.agentTable.name].toSorted());
});
