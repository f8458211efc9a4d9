import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pageWidth, tableWidth } from './page-width.ts';

test('the terminal, else COLUMNS, else 80; a pipe has room for every column, whatever COLUMNS says', (t) => {
  const before = process.env.COLUMNS;
  t.after(() => {
    if (before === undefined) delete process.env.COLUMNS;
    else process.env.COLUMNS = before;
  });
  delete process.env.COLUMNS;
  assert.deepEqual([pageWidth({}), tableWidth({})], [80, Number.POSITIVE_INFINITY]);
  assert.deepEqual([pageWidth({ isTTY: true, columns: 60 }), tableWidth({ isTTY: true, columns: 60 })], [60, 60]);
  assert.equal(pageWidth({ isTTY: true, columns: 3 }), 40);
  process.env.COLUMNS = '200';
  assert.deepEqual([pageWidth({}), tableWidth({})], [80, Number.POSITIVE_INFINITY]);
  assert.deepEqual([pageWidth({ isTTY: true, columns: 60 }), tableWidth({ isTTY: true, columns: 60 })], [60, 60]);
  assert.deepEqual([pageWidth({ isTTY: true, columns: 0 }), tableWidth({ isTTY: true })], [200, 200]);
  process.env.COLUMNS = 'wide';
  assert.equal(pageWidth({ isTTY: true }), 80);
});
