import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { cell, isQuotedAfter, lastRowEnd, line, rowEnd, rowEndIn, splitLine } from './csv.ts';

const TEXT = fc.string({ unit: fc.constantFrom('a', '"', ',', '\n', '\r', 'é') });
const ROWS = fc.array(fc.array(TEXT, { minLength: 1, maxLength: 4 }), { maxLength: 5 });

test('what needs quotes gets them', () => {
  assert.deepEqual(['', 'a b', 'a,b', 'a"b', 'a\nb', 'a\rb'].map(cell), [
    '',
    'a b',
    '"a,b"',
    '"a""b"',
    '"a\nb"',
    '"a\rb"',
  ]);
});

test('rows are found again in what was written, as text and as bytes, and their cells in them', () => {
  fc.assert(
    fc.property(ROWS, (rows) => {
      const text = rows.map(line).join('');
      const bytes = Buffer.from(text);
      const lineCells: string[][] = [];
      const ends: number[] = [];
      for (let at = 0; at < text.length; ) {
        const end = rowEnd(text, at);
        lineCells.push(splitLine(text.slice(at, end)));
        at = end + 1;
      }
      for (let at = rowEndIn(bytes, 0); at > 0; at = rowEndIn(bytes, at)) ends.push(at);
      assert.deepEqual(lineCells, rows);
      assert.equal(ends.length, rows.length);
      assert.equal(ends.at(-1) ?? 0, bytes.length);
      assert.equal(lastRowEnd(Buffer.concat([bytes, Buffer.from('1,"torn\n')])), bytes.length);
      assert.equal(isQuotedAfter(bytes), false);
    }),
  );
});
