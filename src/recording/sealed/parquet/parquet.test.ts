import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { diskTable, START, temporary } from '../../../../test/make-recording.ts';
import type { Batch } from '../../read/batch.ts';
import { Rows } from '../../read/rows.ts';
import { numberChunk } from './chunk.ts';
import * as decode from './decode.ts';
import * as encode from './encode.ts';
import { readFooter, readParquet } from './read.ts';
import { writeParquet } from './write.ts';

const whole = fc.oneof(fc.integer(), fc.maxSafeInteger(), fc.nat(3));
/** Within 2^51 of each other, as the delta encoding asks for. */
const near = fc.oneof(fc.integer({ min: -(2 ** 50), max: 2 ** 50 }), fc.nat(3), fc.integer());

function through(
  write: (out: encode.Bytes, values: Float64Array) => void,
  read: (bytes: Buffer, count: number) => Float64Array,
  values: readonly number[],
): number[] {
  const out = new encode.Bytes(1);
  write(out, Float64Array.from(values));
  return [...read(Buffer.from(out.view()), values.length)];
}

test('every encoding of numbers gives back what went in', () => {
  fc.assert(
    fc.property(fc.array(near, { minLength: 1, maxLength: 400 }), (values) => {
      assert.deepEqual(through(encode.deltaInt64, decode.deltaInt64, values), values);
      assert.deepEqual(through(encode.deltaBytes, decode.deltaInt64, values), values);
    }),
    { numRuns: 500 },
  );
  fc.assert(
    fc.property(fc.array(whole), (values) => {
      assert.deepEqual(through(encode.plainInt64, decode.plainInt64, values), values);
    }),
  );
  fc.assert(
    fc.property(fc.array(fc.double()), (values) => {
      assert.deepEqual(through(encode.plainDouble, decode.plainDouble, values), values);
      assert.deepEqual(through(encode.splitDouble, decode.splitDouble, values), values);
    }),
  );
});

test('runs and bit-packed groups of every width give back what went in', () => {
  const runs = fc.array(fc.tuple(fc.nat(), fc.integer({ min: 1, max: 20 })), { maxLength: 40 });
  fc.assert(
    fc.property(runs, fc.integer({ min: 0, max: 24 }), (runLengths, width) => {
      const values = Uint32Array.from(runLengths.flatMap(([value, times]) => Array(times).fill(value % 2 ** width)));
      const out = new encode.Bytes(1);
      encode.runsAndBits(out, values, width);
      assert.deepEqual(decode.runsAndBits(out.view(), 0, out.length, width, values.length), values);
    }),
    { numRuns: 500 },
  );
});

interface Sample {
  disk: string;
  read_bytes: number;
  busy_percent: number;
  queue: number;
  model: string;
}

function batchOf(rows: readonly Sample[]): Batch {
  const texts = (pick: (row: Sample) => string) => {
    const values = [...new Set(rows.map(pick))];
    return { values, codes: Uint32Array.from(rows, (row) => values.indexOf(pick(row))) };
  };
  return {
    table: diskTable,
    rows: rows.length,
    time: Float64Array.from(rows, (_, i) => START + i * 1e6),
    numbers: new Map([
      ['read_bytes', Float64Array.from(rows, (row) => row.read_bytes)],
      ['busy_percent', Float64Array.from(rows, (row) => row.busy_percent)],
      ['queue', Float64Array.from(rows, (row) => row.queue)],
    ]),
    texts: new Map([
      ['disk', texts((row) => row.disk)],
      ['model', texts((row) => row.model)],
    ]),
    series: Uint32Array.of(0, rows.length),
  };
}

function readBack(
  file: string,
  wanted?: string[],
  within?: [number, number],
): { rows: Sample[]; times: number[]; columns: string[] } {
  const rows = new Rows();
  const table = readParquet(file, rows, {
    ...(wanted === undefined ? {} : { wanted: new Set(wanted) }),
    ...(within === undefined ? {} : { within }),
  });
  const number = (name: string, i: number): number => rows.numbers.get(name)?.[i] ?? Number.NaN;
  const values = new Map([...rows.texts].map(([name, { pool }]) => [name, pool.values()]));
  const word = (name: string, i: number): string => values.get(name)?.[rows.texts.get(name)!.codes[i]!] ?? '';
  return {
    columns: table.columns.map((c) => c.name),
    times: [...rows.time.subarray(0, rows.length)],
    rows: Array.from({ length: rows.length }, (_, i) => ({
      disk: word('disk', i),
      read_bytes: number('read_bytes', i),
      busy_percent: number('busy_percent', i),
      queue: number('queue', i),
      model: word('model', i),
    })),
  };
}

const missing = fc.constant(Number.NaN);
const sample = fc.record(
  {
    disk: fc.string({ unit: 'grapheme', maxLength: 3 }),
    read_bytes: fc.oneof(whole, missing),
    busy_percent: fc.oneof(
      fc.double({ noDefaultInfinity: true }).map((n) => n + 0),
      fc.nat(20).map((n) => n / 10),
      missing,
    ),
    queue: fc.oneof(fc.nat(2), missing),
    model: fc.constantFrom('', 'x', 'ß"\n'),
  },
  { noNullPrototype: true },
);

test('a table comes back from its file as it was, in one row group or many', () => {
  const folder = temporary();
  const file = path.join(folder, 'disk.parquet');
  fc.assert(
    fc.property(fc.array(sample, { maxLength: 300 }), fc.integer({ min: 1, max: 400 }), (rows, rowsPerGroup) => {
      const size = writeParquet(file, batchOf(rows), { rowsPerGroup });
      assert.equal(fs.statSync(file).size, size);
      const back = readBack(file);
      assert.deepEqual(back.rows, rows);
      assert.deepEqual(
        back.times,
        rows.map((_, i) => START + i * 1e6),
      );
      assert.deepEqual(back.columns, ['read_bytes', 'busy_percent', 'queue', 'model']);
    }),
    { numRuns: 200 },
  );
});

test('whole numbers as far as 2^53 on either side come back exactly', () => {
  const file = path.join(temporary(), 'disk.parquet');
  const far = [-9007199254699983, -9007199254725072, 9007199254740991, -9007199254740991, -4503599627370497, 0, -1];
  const rows = far.map((read_bytes): Sample => ({ disk: '', read_bytes, busy_percent: 0, queue: 0, model: '' }));
  writeParquet(file, batchOf(rows), { rowsPerGroup: 2 });
  assert.deepEqual(readBack(file).rows, rows);
});

test('large columns of every nature survive the choice of encodings', () => {
  const file = path.join(temporary(), 'disk.parquet');
  let state = 7;
  const random = (): number => {
    state = (state * 1103515245 + 12345) % 2147483648;
    return state / 2147483648;
  };
  let read = 0;
  const rows = Array.from({ length: 150_000 }, (_, i): Sample => {
    read += Math.floor(random() * 1e9);
    return {
      disk: `d${Math.floor(i / 50_000)}`,
      read_bytes: i % 1000 === 3 ? Number.NaN : read,
      busy_percent: Math.round(random() * 1000) / 10,
      queue: i < 75_000 ? 0 : Math.floor(random() * 4),
      model: i % 2 === 0 ? 'a' : '',
    };
  });
  writeParquet(file, batchOf(rows));
  assert.deepEqual(readBack(file).rows, rows);
});

test('percentages take a byte each before they are packed, with runs and gaps in them', () => {
  const percent = Float64Array.from({ length: 50_000 }, (_, i) =>
    i % 500 === 7 ? Number.NaN : i < 20_000 ? 100 : (i * 7919) % 101,
  );
  const chunk = numberChunk(percent, 'int', true);
  assert.ok(chunk.dictionaryBytes > 0);
  assert.ok(chunk.plainBytes < 60_000, `${chunk.plainBytes} bytes`);
  const file = path.join(temporary(), 'disk.parquet');
  const rows = Array.from(percent, (queue) => ({ disk: 'a', read_bytes: 1, busy_percent: 2.5, queue, model: 'm' }));
  writeParquet(file, batchOf(rows));
  assert.deepEqual(readBack(file).rows, rows);
});

test('only the columns that are asked for are read; keys always are', () => {
  const file = path.join(temporary(), 'disk.parquet');
  writeParquet(file, batchOf([{ disk: 'a', read_bytes: 1, busy_percent: 2.5, queue: 3, model: 'm' }]));
  const [row] = readBack(file, ['queue']).rows;
  assert.deepEqual(row, { disk: 'a', read_bytes: Number.NaN, busy_percent: Number.NaN, queue: 3, model: '' });
});

test('of a long table only the rows of a time are read, as they are in the whole', () => {
  const file = path.join(temporary(), 'disk.parquet');
  const length = 50_000;
  const rows = Array.from({ length: 3 * length }, (_, i): Sample => {
    const [disk, second] = [Math.floor(i / length), i % length];
    return {
      disk: `d${disk}`,
      read_bytes: second * (disk + 1) * 4096,
      busy_percent: second % 97 === 0 ? Number.NaN : ((second * 7919) % 1000) / 10,
      queue: (second * 31) % 500,
      model: second % 1000 === 0 ? '' : `m${second % 3}`,
    };
  });
  const time = Float64Array.from(rows, (_, i) => START + (i % length) * 1e6);
  for (const rowsPerGroup of [1 << 20, 70_000]) {
    writeParquet(file, { ...batchOf(rows), time }, { rowsPerGroup });
    for (const [first, last] of [
      [0, 0],
      [16_000, 17_000],
      [length - 2, length + 5],
      [-5, -1],
      [-1, length],
      [33, length - 40],
    ] as const) {
      const { rows: rowsInRange, times } = readBack(file, undefined, [
        START + first * 1e6,
        START + last * 1e6 + 999_999,
      ]);
      const isIn = (_: unknown, i: number): boolean => i % length >= first && i % length <= last;
      assert.deepEqual(rowsInRange, rows.filter(isIn), `${first} to ${last}`);
      assert.deepEqual(times, [...time.filter(isIn)]);
    }
  }
});

test('damage outside of the rows that are read hides none of them', () => {
  const file = path.join(temporary(), 'disk.parquet');
  const rows = Array.from({ length: 140_000 }, (_, i) => ({
    ...{ disk: 'a', read_bytes: i * i, busy_percent: 2, queue: 1, model: '' },
  }));
  writeParquet(file, batchOf(rows));
  const bytes = fs.readFileSync(file);
  const fd = fs.openSync(file, 'r');
  const [chunk] = readFooter(fd, bytes.length).columns.find(({ name }) => name === 'read_bytes')!.chunks;
  fs.closeSync(fd);
  // in the last page of the column
  bytes[chunk!.offset + chunk!.bytes - 3]! ^= 0x40;
  fs.writeFileSync(file, bytes);
  assert.throws(() => readBack(file), /column read_bytes is damaged \(checksum\)/);
  const { rows: rowsInRange } = readBack(file, undefined, [START + 5e6, START + 6e6]);
  assert.deepEqual(rowsInRange, rows.slice(5, 7));
});

test('a whole-number column in which a fraction turned up keeps the fraction', () => {
  const file = path.join(temporary(), 'disk.parquet');
  const row = { disk: 'a', read_bytes: 1.5, busy_percent: 2, queue: 3, model: 'm' };
  writeParquet(file, batchOf([row, { ...row, read_bytes: 2 ** 60 }]));
  assert.deepEqual(
    readBack(file).rows.map((r) => r.read_bytes),
    [1.5, 2 ** 60],
  );
});

test('a file that was cut off or altered is refused with the reason, never read wrong', () => {
  const file = path.join(temporary(), 'disk.parquet');
  const rows = Array.from({ length: 500 }, (_, i) => ({
    disk: 'a',
    read_bytes: i * i,
    busy_percent: i / 7,
    queue: i,
    model: '',
  }));
  writeParquet(file, batchOf(rows));
  const good = fs.readFileSync(file);
  fs.writeFileSync(file, good.subarray(0, good.length - 20));
  assert.throws(() => readBack(file), /not a whole Parquet file/);
  const fd = fs.openSync(file, 'r');
  assert.throws(() => readFooter(fd, 3), /not a whole Parquet file/);
  fs.closeSync(fd);
  const footer = good.length - 8 - good.readUInt32LE(good.length - 8);
  for (let at = 60; at < footer; at += 97) {
    const bad = Buffer.from(good);
    bad[at]! ^= 0x40;
    fs.writeFileSync(file, bad);
    let back: Sample[] | undefined;
    try {
      back = readBack(file).rows;
    } catch {
      continue;
    }
    // a bit of a page header that nobody reads
    assert.deepEqual(back, rows, `byte ${at}`);
  }
});
