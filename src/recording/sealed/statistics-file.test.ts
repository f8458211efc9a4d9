import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { after, test } from 'node:test';
import { crc32, zstdCompressSync } from 'node:zlib';
import { isAsSealed, readStatistics, writeStatistics } from './statistics-file.ts';

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-statistics-'));
after(() => fs.rmSync(folder, { recursive: true }));

const size = { count: 3, missing: 0, first: 5, last: 5, min: 5, max: 5, max_time: 10, mean: 5, deviation: 0 };
const column = { ...size, p05: 5, p25: 5, p50: 5, p75: 5, p95: 5, integral: 10 };
const series = { keys: { disk: 'sda' }, start: 10, end: 12, samples: 3, texts: {} };
const head = { table: 'disk', rows: 3, start: 10, end: 12, series_total: 1 };

test('statistics of earlier versions are read: whole, or shortened', () => {
  const file = path.join(folder, 'earlier.stats.json');
  const rate = { min: 1, max: 1, max_time: 11, mean: 1, p05: 1, p50: 1, p95: 1 };
  const full = {
    ...head,
    series: [{ ...series, columns: { size: column, read_bytes: { ...column, increase: 2, rate } } }],
  };
  fs.writeFileSync(file, JSON.stringify(full));
  assert.deepEqual(readStatistics(file), full);
  const { min, integral } = column;
  const read_bytes = { min, integral, increase: 2, rate: { min: 1, max_time: 11 } };
  const short = JSON.stringify({ ...head, series: [{ ...series, columns: { size: { min, integral }, read_bytes } }] });
  fs.writeFileSync(`${file}.zst`, zstdCompressSync(short));
  assert.deepEqual(readStatistics(`${file}.zst`), full);
  fs.writeFileSync(file, short.replace('"min":5', '"min":"5"'));
  assert.equal(readStatistics(file), undefined);
});

test('a sealed file is the one that was measured when nobody wrote to it since, or its bytes are the same', () => {
  const [sealed, file] = [path.join(folder, 'disk.parquet'), path.join(folder, 'disk.stats.json.zst')];
  fs.writeFileSync(sealed, 'rows');
  writeStatistics(file, { ...head, series: [] }, sealed);
  const fingerprint = readStatistics(file)!.sealed!;
  assert.deepEqual(fingerprint, { bytes: 4, crc32: crc32('rows') });
  const { mtimeMs } = fs.statSync(sealed);
  const isSame = (): boolean => isAsSealed(sealed, fingerprint, file);
  assert.equal(isSame(), true);
  fs.utimesSync(sealed, 1, 1);
  assert.equal(isSame(), true, 'a copy has another time');
  fs.writeFileSync(sealed, 'rowS');
  assert.equal(isSame(), false);
  fs.utimesSync(sealed, mtimeMs / 1e3, mtimeMs / 1e3);
  assert.equal(isSame(), true, 'as if nobody had written to it since');
  assert.equal(isAsSealed(sealed, fingerprint), false, 'who has to be sure looks at it');
  for (const each of [sealed, file]) fs.utimesSync(each, 1.5, 1.5);
  assert.equal(isSame(), false, 'both were written at the same moment');
});
