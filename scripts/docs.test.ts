import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { prometheusName } from '../src/table/names.ts';
import { units } from '../src/table/unit.ts';
import { generated, tables } from './docs.ts';
import { thresholdReference } from './threshold-reference.ts';

for (const [file, text] of generated()) {
  test(`${path.basename(file)} is what the definitions say (npm run docs renews it)`, () => {
    assert.equal(fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : '', text);
  });
}

/** Names that come from elsewhere: the kernel's rchar and wchar, and what EPMT calls its metrics of processes and threads. */
const OWN_NAMES = /^(process\.(read|written)_chars|(process|thread)_(start|end)\..*)$/;

test('every column says its unit in its name, has a sentence of help and a Prometheus name of its own', () => {
  const unitsByName = new Map<string, string>();
  const wrong: string[] = [];
  for (const { table } of tables) {
    for (const column of table.columns) {
      const here = `${table.name}.${column.name}`;
      const { suffix } = units[column.unit];
      if (OWN_NAMES.test(here)) continue;
      if (suffix !== '' && column.name !== suffix && !column.name.endsWith(`_${suffix}`))
        wrong.push(`${here} lacks _${suffix}`);
      if (!/^\S.*\.$/.test(column.help)) wrong.push(`${here}: "${column.help}" is no sentence`);
      const name = prometheusName(table, column);
      if (!/^[a-z_][a-zA-Z0-9_]*$/.test(name)) wrong.push(`${here} would be ${name}`);
      if (column.type !== 'text' && unitsByName.has(name))
        wrong.push(`${here} and ${unitsByName.get(name)} are both ${name}`);
      unitsByName.set(name, here);
    }
  }
  assert.deepEqual(wrong, []);
});

test('every threshold of a rule has help of its own, which says what it measures', () => {
  const rows = thresholdReference().split('\n').slice(7);
  const wrong = rows.filter((row) => !/\| [A-Z][^|]*\. \|$/.test(row) || /\bso (many|much|long|often)\b|…/i.test(row));
  assert.deepEqual(wrong, []);
  // each of these has one that others define
  const helpOf = (rule: string, name: string): string | undefined =>
    rows.find((row) => row.startsWith(`| \`${rule}\` | \`${name}\` |`))?.split(' | ')[3];
  assert.match(helpOf('slow-end', 'rest')!, /in the rest of the time/);
  assert.match(helpOf('rank-binding', 'wanted')!, /ranks/);
  assert.match(helpOf('cpu-throttled', 'throttled')!, /quota/);
  assert.match(helpOf('dask-transfers', 'seconds')!, /transfers/);
});

test('docs/README.md leads to every page', () => {
  const docs = path.join(import.meta.dirname, '../docs');
  const index = fs.readFileSync(path.join(docs, 'README.md'), 'utf8');
  const pages = fs.globSync('{,decisions/}*.md', { cwd: docs }).filter((name) => name !== 'README.md');
  assert.deepEqual(
    pages.filter((name) => !index.includes(`](${name})`)),
    [],
  );
});

test('every benchmark that a decision rests on is there', () => {
  const root = path.join(import.meta.dirname, '..');
  for (const page of fs.globSync('docs/decisions/*.md', { cwd: root }))
    for (const [, name] of fs.readFileSync(path.join(root, page), 'utf8').matchAll(/npm run bench -- ([a-z-]+)/g))
      assert.ok(fs.existsSync(path.join(root, `bench/${name}.ts`)), `${page}: ${name}`);
});

test('every test that the threat model names is there', () => {
  const root = path.join(import.meta.dirname, '..');
  const page = fs.readFileSync(path.join(root, 'test/threats.md'), 'utf8');
  const named = [...page.matchAll(/\| `([\w/-]+\.test\.ts)`(?:: (.+?))? +\|$/gm)];
  assert.ok(named.length > 15, `${named.length} rows`);
  for (const [, file, name = ''] of named) {
    const plain = (text: string): string => text.replaceAll('\\', '').replaceAll('’', "'");
    const text = plain(fs.readFileSync(path.join(root, file!), 'utf8'));
    assert.ok(text.includes(plain(name)), `${file} has no test "${name}"`);
  }
});
