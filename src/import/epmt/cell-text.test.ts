import assert from 'node:assert/strict';
import { test } from 'node:test';
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
