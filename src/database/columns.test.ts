import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isEmpty, textColumn } from './columns.ts';
import { copyWriter } from './copy-write.ts';

test('texts like the one before are written as any other', () => {
  const texts = ['a\0ä', 'a\0ä', 'a\0ä', '', '', 'b', 'a\0ä', '\ud800', '\ud800', '\ud800'];
  const [repeated, each] = [copyWriter(), copyWriter()];
  const column = textColumn('args', texts);
  for (const [row, text] of texts.entries()) {
    column.write(repeated, row);
    each.text(text);
  }
  assert.deepEqual(repeated.end(), each.end());
});

test('a column is empty when no row has a value', () => {
  assert.equal(isEmpty(['', ''], 2), true);
  assert.equal(isEmpty(['', 'x'], 2), false);
  assert.equal(isEmpty(new Float64Array([Number.NaN, Number.NaN]), 2), true);
  assert.equal(isEmpty(new Float64Array([Number.NaN, 0]), 2), false);
});
