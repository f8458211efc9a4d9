import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';

const SRC = path.join(import.meta.dirname, '../../src');

/** What a module loads at once, with all that this loads: files of src/ and names of packages. */
function loadedBy(file: string, loaded = new Set<string>()): Set<string> {
  if (loaded.has(file)) return loaded;
  loaded.add(file);
  const text = fs.readFileSync(path.join(SRC, file), 'utf8');
  for (const [, target] of text.matchAll(/^(?:import|export)\s(?!type\b)[^;]*?from\s+'([^']+)';/gm)) {
    if (target!.startsWith('.')) loadedBy(path.join(path.dirname(file), target!), loaded);
    else loaded.add(target!);
  }
  return loaded;
}

test('a report loads no heavy package: it has a quarter of a second', () => {
  const packages = [...loadedBy('cli/report.ts')].filter((name) => !name.endsWith('.ts') && !name.startsWith('node:'));
  assert.deepEqual(packages, []);
});
