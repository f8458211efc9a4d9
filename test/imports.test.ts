import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';

/** The way of the data: a folder may import from itself and from those before it, never from those after. */
const ORDER = [
  'base',
  'trust',
  'http',
  'table',
  'sources',
  'recording',
  'config',
  'jobs',
  'control',
  'prometheus',
  'sinks',
  'agent',
  'dask',
  'check',
  'hub',
  'query',
  'import',
  'judge',
  'charts',
  'history',
  'database',
  'advise',
  'policy',
  'show',
  'demo',
  'serve',
  'mcp',
  'cli',
];
const SRC = path.join(import.meta.dirname, '../src');

test('every folder of src/ has its place in the order', () => {
  const folders = fs.readdirSync(SRC).filter((name) => fs.statSync(path.join(SRC, name)).isDirectory());
  assert.deepEqual(
    folders.filter((name) => !ORDER.includes(name)),
    [],
  );
});

test('imports go only to the left', () => {
  const wrong: string[] = [];
  for (const file of fs.globSync('**/*.ts', { cwd: SRC })) {
    const folder = file.split(path.sep)[0]!;
    const text = fs.readFileSync(path.join(SRC, file), 'utf8');
    for (const [, target] of text.matchAll(/(?:from|import\(|createRequire\([^)]*\)\()\s*'(\.[^']*)'/g)) {
      const other = path.relative(SRC, path.resolve(SRC, path.dirname(file), target!)).split(path.sep)[0]!;
      if (other === '..' || other.startsWith('..')) continue;
      if (ORDER.indexOf(other) > ORDER.indexOf(folder)) wrong.push(`${file} imports ${target}`);
    }
  }
  assert.deepEqual(wrong, []);
});

test('no file imports itself over others, types left out', () => {
  const importsOf = new Map<string, string[]>();
  for (const file of fs.globSync('**/*.ts', { cwd: SRC, exclude: ['**/*.test.ts'] })) {
    const text = fs.readFileSync(path.join(SRC, file), 'utf8');
    const targets = Array.from(text.matchAll(/^(?:import|export) ([^;]*?) from '(\.[^']+)';/gm), ([, names, target]) =>
      /^type |^\{(?:\s*type [^,}]+,?)+\s*\}$/.test(names!)
        ? []
        : path.normalize(path.join(path.dirname(file), target!)),
    );
    importsOf.set(file, targets.flat());
  }
  const isDone = new Set<string>();
  const cycles: string[] = [];
  const look = (file: string, way: readonly string[]): void => {
    if (way.includes(file)) cycles.push([...way.slice(way.indexOf(file)), file].join(' → '));
    if (isDone.has(file) || way.includes(file)) return;
    for (const target of importsOf.get(file) ?? []) look(target, [...way, file]);
    isDone.add(file);
  };
  for (const file of importsOf.keys()) look(file, []);
  assert.ok(importsOf.size > 500);
  assert.deepEqual(cycles, []);
});
