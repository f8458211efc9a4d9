import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { cellMeaning } from './cell-text.ts';

test('a backslash escapes a comma, a backslash and control characters; before anything else it is only that', () => {
  const cases: [cell: string, meant: string][] = [
    ['-Wp\\,-MD\\,a.d', '-Wp,-MD,a.d'],
    ['\\,', ','],
    ['a\\\\b', 'a\\b'],
    // an escaped backslash, then an escaped comma
    ['\\\\\\,', '\\,'],
    ['a\\,b\\nc', 'a,b\nc'],
    ['\\,\\d', ',\\d'],
    ['a\\,\\', 'a,\\'],
    ['plain', 'plain'],
  ];
  for (const [cell, meant] of cases) assert.equal(cellMeaning(cell), meant, JSON.stringify(cell));
});

test('a text takes the room of its characters, however many commas were escaped in it', () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const cells = Array.from({ length: 1000 }, (_, i) => `-v ${i} ${'temp\\,'.repeat(200)}`);
  collect();
  const before = process.memoryUsage().heapUsed;
  const meant = cells.map(cellMeaning);
  collect();
  const taken = process.memoryUsage().heapUsed - before;
  const characters = meant.reduce((sum, { length }) => sum + length, 0);
  assert.ok(taken < 5 * characters, `${taken} bytes for ${characters} characters`);
});
