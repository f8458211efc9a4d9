import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Table } from '../../table/table.ts';
import { arrange } from './arrange.ts';
import type { Batch } from './batch.ts';
import { Rows } from './rows.ts';

const TABLE: Table = {
  name: 'made',
  help: '',
  scope: 'node',
  keys: [
    { name: 'gpu', help: '' },
    { name: 'what', help: '' },
  ],
  columns: [],
};

type Row = [gpu: string, what: string, time: number];

function rowsOf(made: readonly Row[]): Rows {
  const rows = new Rows();
  rows.reserve(made.length);
  for (const name of ['gpu', 'what']) rows.addText(name);
  for (const [gpu, what, time] of made) {
    for (const [name, value] of Object.entries({ gpu, what })) {
      const { codes, pool } = rows.texts.get(name)!;
      codes[rows.length] = pool.codeOf(value);
    }
    rows.time[rows.length++] = time;
  }
  return rows;
}

function texts(batch: Batch): Row[] {
  const text = (name: string, row: number): string => {
    const { codes, values } = batch.texts.get(name)!;
    return values[codes[row]!]!;
  };
  return Array.from({ length: batch.rows }, (_, i) => [text('gpu', i), text('what', i), batch.time[i]!]);
}

const NUMBER = /^\d{1,15}$/;

/** Keys that are numbers come first, by value ("gpu 2" before "gpu 10"), then texts. */
function compareKeys(a: string, b: string): number {
  const left = NUMBER.test(a);
  const right = NUMBER.test(b);
  if (left !== right) return left ? -1 : 1;
  if (left) {
    const difference = Number(a) - Number(b);
    if (difference !== 0) return difference;
  }
  return a < b ? -1 : a > b ? 1 : 0;
}

const byKeysAndTime = (a: Row, b: Row): number => compareKeys(a[0], b[0]) || compareKeys(a[1], b[1]) || a[2] - b[2];

test('rows come by keys and time, and series begin where keys change, whether they were in order or not', () => {
  const key = fc.constantFrom('', '0', '2', '10', '010', 'a', 'Z', '99999999999999999999');
  const row = fc.tuple(key, key, fc.integer({ min: 0, max: 30 }));
  fc.assert(
    fc.property(fc.uniqueArray(row, { selector: (each) => each.join(' ') }), (made) => {
      const expected = made.toSorted(byKeysAndTime);
      const starts = expected.flatMap((each, i) =>
        i > 0 && each[0] === expected[i - 1]![0] && each[1] === expected[i - 1]![1] ? [] : [i],
      );
      for (const given of [made, expected]) {
        const batch = arrange(rowsOf(given), TABLE);
        assert.deepEqual(texts(batch), expected);
        assert.deepEqual([...batch.series], [...starts, expected.length]);
      }
    }),
  );
});
