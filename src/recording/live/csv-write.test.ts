import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { zstdDecompressSync } from 'node:zlib';
import fc from 'fast-check';
import { frameOf, START, temporary } from '../../../test/make-recording.ts';
import { marker } from '../../sources/own/marker.ts';
import { gauge, header, type Table } from '../../table/table.ts';
import { layoutOf } from '../folder/describe.ts';
import { arrange } from '../read/arrange.ts';
import { readCsv } from '../read/csv-read.ts';
import { Rows } from '../read/rows.ts';
import { packCsv } from '../sealed/packed-csv.ts';
import { readParquet } from '../sealed/parquet/read.ts';
import { writeParquet } from '../sealed/parquet/write.ts';
import { CsvText } from './csv-write.ts';

function written(table: Table, values: readonly number[]): string {
  const csv = new CsvText();
  csv.line(header(table));
  for (const [i, value] of values.entries()) csv.frame(frameOf(table, [{ time: START + i, value }]));
  return csv.bytes.toString('utf8', 0, csv.length);
}

test('every number that somebody gives comes back the same, as CSV, packed and as Parquet', () => {
  const folder = temporary();
  const [csv, parquet] = ['csv', 'parquet'].map((kind) => path.join(folder, `marker.${kind}`)) as [string, string];
  const valuesOf = (rows: Rows): number[] => [...rows.numbers.get('value')!.subarray(0, rows.length)];
  const readText = (text: string): Rows => {
    const rows = new Rows();
    fs.writeFileSync(csv, text);
    readCsv(csv, rows, {
      layout: (names, sample) => layoutOf(marker.table, names, sample),
      wanted: () => true,
    });
    return rows;
  };
  const finite = fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => (value === 0 ? 0 : value));
  const usual = fc.constantFrom(
    4.7e-12,
    1.234e-7,
    0.0004567,
    1.5e-5,
    Math.PI,
    5e-324,
    Number.MAX_VALUE,
    -1e21,
    2 ** 53,
  );
  fc.assert(
    fc.property(fc.array(fc.oneof(finite, usual), { minLength: 1, maxLength: 50 }), (values) => {
      const rows = readText(written(marker.table, values));
      assert.deepEqual(valuesOf(rows), values);
      const batch = arrange(rows, marker.table);
      assert.deepEqual(valuesOf(readText(zstdDecompressSync(packCsv(batch)).toString())), values);
      writeParquet(parquet, batch);
      const sealed = new Rows();
      readParquet(parquet, sealed);
      assert.deepEqual(valuesOf(sealed), values);
    }),
  );
});

test('numbers that Tacho has computed keep as many decimals as their column says', () => {
  const table: Table = {
    name: 't',
    help: '',
    scope: 'node',
    keys: [],
    columns: [gauge('value', 'count', '', 'float')],
  };
  const cells = written(table, [1 / 3, 2, 0.0004, 12.5])
    .split('\n')
    .slice(1, -1)
    .map((line) => line.split(',')[1]);
  assert.deepEqual(cells, ['0.333', '2', '0', '12.5']);
});
