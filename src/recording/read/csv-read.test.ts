import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { zstdCompressSync } from 'node:zlib';
import fc from 'fast-check';
import { enumNames } from '../../../test/made/c-enum.ts';
import { appendRows, diskTable, type Row, START, temporary } from '../../../test/make-recording.ts';
import { sampling } from '../../base/sampling.ts';
import { layoutOf } from '../folder/describe.ts';
import { packText } from '../sealed/pack-text.ts';
import { CELL, type Damage, ROW_STATE, readCsv, readCsvBytes } from './csv-read.ts';
import { Rows } from './rows.ts';

/** Reads a part of `diskTable`; rows as objects, missing values left out. */
function read(file: string): { rows: Row[]; damage: Damage; rejected: string } {
  const rows = new Rows();
  const rejected: Buffer[] = [];
  const damage = readCsv(file, rows, {
    layout: (header, sample) => layoutOf(diskTable, header, sample),
    wanted: () => true,
    reject: (bytes) => rejected.push(Buffer.from(bytes)),
  });
  const texts = [...rows.texts].map(([name, { codes, pool }]) => ({ name, codes, values: pool.values() }));
  const readRows = Array.from({ length: rows.length }, (_, i) => {
    const row: Row = { time: rows.time[i]! };
    for (const { name, codes, values } of texts) if (values[codes[i]!] !== '') row[name] = values[codes[i]!]!;
    for (const [name, values] of rows.numbers) if (!Number.isNaN(values[i])) row[name] = values[i]!;
    return row;
  });
  return { rows: readRows, damage, rejected: Buffer.concat(rejected).toString() };
}

function readText(csv: string): ReturnType<typeof read> {
  const file = path.join(temporary(), 'disk.csv');
  fs.writeFileSync(file, csv);
  return read(file);
}

const HEADER = 'time,disk,read_bytes,busy_percent,queue,model\n';

const textArbitrary = fc.oneof(fc.string(), fc.constantFrom('', 'a,b', '"', '""', 'x\ny', '\r\n', '1,2\n3', 'é€😀'));
const values = fc.record(
  {
    disk: textArbitrary,
    read_bytes: fc.maxSafeNat(),
    busy_percent: fc.integer({ min: -1e9, max: 1e9 }).map((n) => n / 100),
    queue: fc.integer(),
    model: textArbitrary,
  },
  { requiredKeys: [] },
);
const tables = fc
  .array(values, { minLength: 1, maxLength: 20 })
  .map((rows) => rows.map((row, i) => ({ time: START + i, ...row }) as Row));

/** Lone surrogates have no bytes of their own; '' is missing; −0 is 0. */
const asWritten = (rows: readonly Row[]): Row[] =>
  rows.map(
    (row) =>
      Object.fromEntries(
        Object.entries(row)
          .filter(([, value]) => value !== '')
          .map(([name, value]) => [name, typeof value === 'string' ? value.toWellFormed() : value + 0]),
      ) as Row,
  );

const byName = (row: Row): string => JSON.stringify(Object.entries(row).sort(([a], [b]) => (a < b ? -1 : 1)));

test('whatever an agent appends is read back equal', async () => {
  await fc.assert(
    fc.asyncProperty(tables, async (rows) => {
      const folder = temporary();
      await appendRows(folder, diskTable, rows);
      const back = read(path.join(folder, 'disk.csv'));
      assert.deepEqual(back.rows.map(byName), asWritten(rows).map(byName));
      assert.deepEqual([back.damage.torn_bytes, back.damage.bad_lines], [0, 0]);
    }),
    { numRuns: 200 },
  );
});

test('a file cut off at any byte loses its last line and nothing else', async () => {
  await fc.assert(
    fc.asyncProperty(tables, fc.double({ min: 0, max: 1, noNaN: true }), async (rows, share) => {
      const folder = temporary();
      await appendRows(folder, diskTable, rows);
      const file = path.join(folder, 'disk.csv');
      const whole = fs.readFileSync(file);
      const cut = Math.floor(share * whole.length);
      // where each row ends in the file
      const ends: number[] = [];
      for (let n = 1; n <= rows.length; n++) {
        const partFolder = temporary();
        await appendRows(partFolder, diskTable, rows.slice(0, n));
        ends.push(fs.statSync(path.join(partFolder, 'disk.csv')).size);
      }
      fs.truncateSync(file, cut);
      const back = read(file);
      const kept = ends.filter((end) => end <= cut).length;
      assert.deepEqual(back.rows.map(byName), asWritten(rows.slice(0, kept)).map(byName));
      assert.equal(back.damage.bad_lines, 0);
      const lastEnd = kept > 0 ? ends[kept - 1]! : cut >= HEADER.length ? HEADER.length : 0;
      assert.equal(back.damage.torn_bytes, cut - lastEnd);
    }),
    { numRuns: 100 },
  );
});

test('numbers are read exactly as JavaScript would read them', () => {
  const numbers = [
    '0.1',
    '-0.001',
    '123456789012.345',
    '1e21',
    '4.35',
    '9007199254740991',
    '179769313486231570000',
    '.5',
    '7.',
  ];
  const { rows } = readText(HEADER + numbers.map((n, i) => `${i},a,,${n},,\n`).join(''));
  assert.deepEqual(
    rows.map((row) => row.busy_percent),
    numbers.map(Number),
  );
});

test('a bad line is skipped, named and kept; its neighbours are read', () => {
  const csv = `${HEADER}1,a,1,,,\n2,a,x,,,\n3,a,1\n4,a,1,2,3,m,7\n,a,1,,,\n\n 5,a,,,,\n6,"b"c,,,,\n7,a,8,,,\n`;
  const { rows, damage, rejected } = readText(csv);
  assert.deepEqual(
    rows.map((row) => [row.time, row.read_bytes]),
    [
      [1, 1],
      [7, 8],
    ],
  );
  assert.equal(damage.bad_lines, 7);
  assert.deepEqual(damage.first_bad.slice(0, 3), [
    { line: 3, why: '"x" is no number' },
    { line: 4, why: '3 cells instead of 6' },
    { line: 5, why: 'more than 6 cells' },
  ]);
  assert.equal(rejected, '2,a,x,,,\n3,a,1\n4,a,1,2,3,m,7\n,a,1,,,\n\n 5,a,,,,\n6,"b"c,,,,\n');
});

test('zero bytes that a crash left do not take the line behind them along', () => {
  const { rows, damage } = readText(`${HEADER}1,a,1,,,\n${'\0'.repeat(100)}2,a,2,,,\n`);
  assert.deepEqual(
    rows.map((row) => row.time),
    [1, 2],
  );
  assert.equal(damage.bad_lines, 1);
});

test('a quote that never closes costs its line, not the rest of a long file', () => {
  const line = (i: number): string => `${i},sda,${i},1.5,2,some model name\n`;
  const lines = Array.from({ length: 60_000 }, (_, i) => line(i)).join('');
  const { rows, damage } = readText(`${HEADER}${line(0)}9,"open,1,1,1,m\n${lines}`);
  assert.equal(rows.length, 60_001);
  assert.equal(damage.bad_lines, 1);
});

test('a file that spans many chunks is read as one', () => {
  const csv = HEADER + Array.from({ length: 500_000 }, (_, i) => `${i},d${i % 7},${i * 3},,,"a\n${i % 11}"\n`).join('');
  assert.ok(csv.length > 8 << 20);
  const { rows, damage } = readText(csv);
  assert.equal(damage.bad_lines + damage.torn_bytes, 0);
  assert.equal(rows.length, 500_000);
  assert.deepEqual(rows[499_999], { time: 499_999, disk: 'd3', model: `a\n${499_999 % 11}`, read_bytes: 1_499_997 });
});

test('a header of something else is not guessed at', () => {
  const { rows, damage } = readText('name,age\nada,36\n');
  assert.equal(rows.length, 0);
  assert.match(damage.unreadable ?? '', /first line is not the header of this table: name,age/);
  for (const noise of ['PAR1\x15\x04', '\xef\xbb', 'a\x1b[31m,b']) {
    const file = path.join(temporary(), 'disk.csv');
    fs.writeFileSync(file, Buffer.from(`${noise}\n1,2\n`, 'latin1'));
    assert.equal(read(file).damage.unreadable, 'its first line is not the header of this table: it is binary data');
  }
});

test('of a compressed part with any one byte changed, no row is taken that was not written', () => {
  const file = path.join(temporary(), 'disk.0001.csv.zst');
  const csv = HEADER + Array.from({ length: 40 }, (_, i) => `${i},a,${(i * 7919) % 100003},,,\n`).join('');
  const packed = packText(csv);
  fs.writeFileSync(file, packed);
  const { rows: written } = read(file);
  assert.equal(written.length, 40);
  for (let at = 0; at < packed.length; at++) {
    const bytes = Buffer.from(packed);
    bytes[at]! ^= 0x55;
    fs.writeFileSync(file, bytes);
    const { rows, damage } = read(file);
    assert.deepEqual(rows, written.slice(0, rows.length), `byte ${at}`);
    if (rows.length < 40) assert.match(damage.unreadable ?? '', /^cannot be decompressed: /, `byte ${at}`);
  }
});

test('of a compressed part that was cut off, the beginning is read', () => {
  const file = path.join(temporary(), 'disk.0001.csv.zst');
  const csv = HEADER + Array.from({ length: 200_000 }, (_, i) => `${i},a,${(i * 7919) % 100003},,,\n`).join('');
  const packed = zstdCompressSync(csv);
  fs.writeFileSync(file, packed.subarray(0, packed.length / 2));
  const { rows, damage } = read(file);
  assert.match(damage.unreadable ?? '', /cannot be decompressed/);
  assert.ok(rows.length > 50_000 && rows.length < 150_000, `${rows.length} rows`);
  assert.deepEqual(rows[4999], { time: 4999, disk: 'a', read_bytes: (4999 * 7919) % 100003 });
});

/** Cells that an agent writes, and others. */
const cells = fc.oneof(
  fc.constantFrom('', 'sda', '1', '-0.5', '12345678901', '7.', '.5', '-', '1e3', '9007199254740993', '"q"', '"a\nb"'),
  fc.constantFrom('x', '\0', '--1', '1.2.3', '0000000000000000001', 'a text of some length, '.repeat(4), 'é'),
  fc.double({ min: -1e15, max: 1e15, noNaN: true }).map((n) => String(Math.round(n * 1000) / 1000)),
  fc.nat().map(String),
);
const lines = fc.oneof(
  { weight: 20, arbitrary: fc.tuple(fc.nat(), cells, fc.nat(), fc.nat(), cells, cells).map((row) => row.join()) },
  { weight: 1, arbitrary: fc.array(cells, { maxLength: 8 }).map((row) => row.join()) },
);

test('C reads the same rows and finds the same damage', {
  skip: sampling() === null && 'there is no C compiler',
}, () => {
  const readBoth = (bytes: Buffer, wanted: (name: string) => boolean): unknown[] =>
    [sampling(), null].map((native) => {
      const rows = new Rows();
      const rejected: string[] = [];
      const damage = readCsvBytes(
        bytes,
        rows,
        {
          layout: (header, sample) => layoutOf(diskTable, header, sample),
          wanted,
          reject: (rejectedBytes, offset) =>
            rejected.push(`${offset}: ${Buffer.from(rejectedBytes).toString('latin1')}`),
        },
        native,
      );
      const { length } = rows;
      return {
        damage,
        rejected,
        time: [...rows.time.subarray(0, length)],
        numbers: [...rows.numbers].map(([name, values]) => [name, [...values.subarray(0, length)]]),
        texts: [...rows.texts].map(([name, { codes, pool }]) => [name, [...codes.subarray(0, length)], pool.values()]),
      };
    });
  fc.assert(
    fc.property(fc.array(lines, { minLength: 1, maxLength: 30 }), fc.boolean(), (some, all) => {
      // long enough for C to be asked
      const text = Array.from({ length: 300 }, () => some.join('\n')).join('\n');
      const [native, plain] = readBoth(Buffer.from(`${HEADER}${text}\n`), (name) => all || name !== 'queue');
      assert.deepEqual(native, plain);
    }),
    { numRuns: 60 },
  );
});

test('C and JavaScript have the same places for rows', () => {
  const names = (of: string): string[] => enumNames('rows', of);
  assert.deepEqual(
    names('cell'),
    Object.keys(CELL).map((name) => name.replaceAll(/[A-Z]/g, (c) => `_${c.toLowerCase()}`)),
  );
  assert.deepEqual(names('row_state').slice(0, -1), Object.keys(ROW_STATE));
});
