import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { before, test } from 'node:test';
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { DuckDBInstance } from '@duckdb/node-api';
import { parquetReadObjects } from 'hyparquet';
import { openRecording } from '../src/recording/folder/open.ts';
import { readTable } from '../src/recording/read/read.ts';
import { Rows } from '../src/recording/read/rows.ts';
import { readParquet } from '../src/recording/sealed/parquet/read.ts';
import { writeParquet } from '../src/recording/sealed/parquet/write.ts';
import { sealRecording } from '../src/recording/sealed/seal.ts';
import { gauge } from '../src/table/table.ts';
import { diskTable, makeRecording, START, temporary } from './make-recording.ts';

// What people read recordings with, and Tacho not at hand. (pandas and Polars: the export tests.)

let folder: string;
let query: (sql: string) => Promise<unknown[][]>;

before(async () => {
  folder = await makeRecording({ nodes: ['c1', 'c2'], seconds: 300, rollEvery: 120 });
  const connection = await (await DuckDBInstance.create(':memory:')).connect();
  await connection.run("SET TimeZone = 'UTC'");
  query = async (sql) => (await connection.runAndReadAll(sql)).getRowsJson() as unknown[][];
});

const summary = `SELECT disk, count(*), count(queue), sum(read_bytes)::BIGINT, avg(busy_percent), max(model)
  FROM FILES GROUP BY disk ORDER BY disk`;
/** 300 samples of each disk on two nodes. */
const expected = [
  ['nvme10', '600', '480', String(2 * 1e6 * ((299 * 300) / 2)), 50, null],
  ['sda', '600', '600', String(2 * 4096 * ((299 * 300) / 2)), 4.75, 'fast, "new"'],
];

test('DuckDB reads live and rolled parts of all nodes as one table', async () => {
  // the names that docs/recording-format.md tells people, which must not take in statistics or what verify set aside
  const page = fs.readFileSync(path.join(import.meta.dirname, '../docs/recording-format.md'), 'utf8');
  const [, names] = /tacho-4711\/node=\*\/gpu(\.(?!parquet)[^']*)'/.exec(page)!;
  fs.writeFileSync(path.join(folder, 'node=c1', 'disk.0001.csv.torn'), 'time,disk\n1,2,3\n');
  fs.writeFileSync(path.join(folder, 'node=c1', 'disk.0001.csv.zst.torn'), 'half');
  fs.writeFileSync(path.join(folder, 'node=c1', 'disk.stats.json.zst'), zstdCompressSync('{"table":"disk"}'));
  const files = `read_csv('${folder}/node=*/disk${names}', union_by_name = true, hive_partitioning = true)`;
  const taken = await query(`SELECT parse_filename(file) FROM glob('${folder}/node=c1/disk${names}') ORDER BY 1`);
  assert.deepEqual(taken.flat(), ['disk.0001.csv.zst', 'disk.0002.csv.zst', 'disk.csv']);
  assert.deepEqual(await query(summary.replace('FILES', files)), expected);
  assert.ok(page.includes(`glob.glob("tacho-4711/node=c1/gpu${names}")`));
});

test('DuckDB, and any other Parquet reader, reads sealed files with types, nulls and time', async () => {
  sealRecording(openRecording(folder), { parquet: true });
  const files = `read_parquet('${folder}/node=*/disk.parquet', hive_partitioning = true)`;
  assert.deepEqual(await query(summary.replace('FILES', files)), expected);
  assert.deepEqual(await query(`SELECT column_name, column_type FROM (DESCRIBE SELECT * FROM ${files})`), [
    ['time', 'TIMESTAMP WITH TIME ZONE'],
    ['disk', 'VARCHAR'],
    ['read_bytes', 'BIGINT'],
    ['busy_percent', 'DOUBLE'],
    ['queue', 'BIGINT'],
    ['model', 'VARCHAR'],
    ['node', 'VARCHAR'],
  ]);
  assert.deepEqual(await query(`SELECT node, epoch_us(min(time)) FROM ${files} GROUP BY node ORDER BY node`), [
    ['c1', String(START)],
    ['c2', String(START)],
  ]);
  // row groups can be skipped by their bounds
  assert.deepEqual(
    await query(`SELECT stats_min_value, stats_max_value, stats_null_count
      FROM parquet_metadata('${folder}/node=c1/disk.parquet') WHERE path_in_schema IN ('queue', 'disk') ORDER BY 1`),
    [
      ['0', '9', '60'],
      ['nvme10', 'sda', '0'],
    ],
  );
});

test('DuckDB reads every encoding of a table of several pages as Tacho does', async () => {
  const node = path.join(temporary(), 'node=c1');
  fs.mkdirSync(node, { recursive: true });
  const rows = 140_000;
  const columns = [
    gauge('noise', 'count', 'Differences in bits.'),
    gauge('pages', 'bytes', 'Differences in whole bytes.'),
    gauge('clock', 'count', 'More than 256 distinct values.'),
    gauge('watts', 'count', 'Fractions.', 'float', 1),
    gauge('percent', 'percent', 'With gaps.'),
  ];
  let state = 7;
  const random = (): number => {
    state = (state * 1103515245 + 12345) % 2147483648;
    return state / 2147483648;
  };
  let [noise, pages] = [0, 2 ** 38];
  const make: Record<string, (i: number) => number> = {
    noise: () => (noise += Math.floor(random() * 2e8)),
    pages: () => (pages += Math.floor((random() + random()) * 300 - 300) * 4096),
    clock: () => Math.floor(random() * 700) * 1009,
    watts: () => Math.round(random() * 900) / 10,
    percent: (i) => (i % 7 === 0 ? Number.NaN : Math.floor(random() * 60)),
  };
  const numbers = new Map(
    columns.map(({ name }) => [name, Float64Array.from({ length: rows }, (_, i) => make[name]!(i))]),
  );
  const file = path.join(node, 'disk.parquet');
  writeParquet(file, {
    table: { ...diskTable, columns },
    rows,
    // two disks, sampled at the same moments
    time: Float64Array.from(
      { length: rows },
      (_, i) => START + (i % (rows / 2)) * 1e6 + (((i % (rows / 2)) * 7919) % 1000),
    ),
    texts: new Map([
      ['disk', { values: ['a', 'b'], codes: Uint32Array.from({ length: rows }, (_, i) => (i < rows / 2 ? 0 : 1)) }],
    ]),
    numbers,
    series: Uint32Array.of(0, rows / 2, rows),
  });
  const encodings = await query(`SELECT path_in_schema, encodings FROM parquet_metadata('${file}') ORDER BY column_id`);
  assert.deepEqual(encodings, [
    ['time', 'DELTA_BINARY_PACKED, RLE'],
    ['disk', 'PLAIN, RLE_DICTIONARY, RLE'],
    ['noise', 'DELTA_BINARY_PACKED, RLE'],
    ['pages', 'DELTA_BINARY_PACKED, RLE'],
    ['clock', 'PLAIN, RLE_DICTIONARY, RLE'],
    ['watts', 'PLAIN, RLE_DICTIONARY, RLE'],
    ['percent', 'PLAIN, RLE_DICTIONARY, RLE'],
  ]);
  const sums = columns.map(({ name }) => `sum(${name} * (n % 1009))::DOUBLE, count(${name})`).join(', ');
  const [row] = await query(
    `SELECT sum(epoch_us(time) % 1000003)::DOUBLE, ${sums} FROM (SELECT *, row_number() OVER () AS n FROM '${file}')`,
  );
  const read = new Rows();
  readParquet(file, read);
  const weighted = [...numbers].flatMap(([name, written]) => {
    const values = read.numbers.get(name)!.subarray(0, read.length);
    assert.deepEqual(values, written, name);
    let [sum, count] = [0, 0];
    for (let i = 0; i < rows; i++) {
      if (Number.isNaN(values[i]!)) continue;
      sum += values[i]! * ((i + 1) % 1009);
      count++;
    }
    return [Number(sum.toPrecision(12)), count];
  });
  const moments = read.time.subarray(0, read.length).reduce((sum, time) => sum + (time % 1000003), 0);
  assert.deepEqual(
    (row as (number | string)[]).map((value) => Number(Number(value).toPrecision(12))),
    [moments, ...weighted],
  );
});

test('hyparquet reads the same rows as Tacho', async () => {
  const [node] = openRecording(folder).nodes;
  sealRecording(openRecording(folder), { parquet: true });
  const bytes = fs.readFileSync(path.join(node!.folder, 'disk.parquet'));
  const file = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length) as ArrayBuffer;
  const rows = await parquetReadObjects({ file, compressors: { ZSTD: (packed) => zstdDecompressSync(packed) } });
  const batch = readTable(node!, 'disk');
  const queue = batch.numbers.get('queue')!;
  const disk = batch.texts.get('disk')!;
  assert.equal(rows.length, 600);
  rows.forEach((row, i) => {
    assert.equal(row.queue === null || row.queue === undefined ? Number.NaN : Number(row.queue), queue[i]);
    assert.equal(row.disk, disk.values[disk.codes[i]!]);
    assert.equal((row.time as Date).getTime(), Math.floor(batch.time[i]! / 1000));
  });
});
