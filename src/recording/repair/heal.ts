import * as fs from 'node:fs';
import * as path from 'node:path';
import { constants, zstdCompressSync } from 'node:zlib';
import { count } from '../../base/figure.ts';
import { readPlain } from '../../base/plain-file.ts';
import type { AgentRecord } from '../folder/agent-record.ts';
import { fileNames } from '../folder/file-names.ts';
import { tableFiles } from '../folder/files.ts';
import { parseComplete } from '../folder/part-name.ts';
import { MOST_BYTES, readJson } from '../folder/record-file.ts';
import { replaceJson } from '../folder/replace.ts';
import { writeSynced } from '../folder/synced.ts';
import type { Batch } from '../read/batch.ts';
import { Rows } from '../read/rows.ts';
import { measure } from '../sealed/measure.ts';
import { checkParquet, readParquet } from '../sealed/parquet/read.ts';
import { isAsSealed, readStatistics, statisticsBytes } from '../sealed/statistics-file.ts';
import { MOST_PART_BYTES, unpackFile, unpackWhole } from '../sealed/unpack.ts';
import { keepBytes, keptName, neverBack, rememberDamaged, tornName } from './torn.ts';

/** Bytes of a part, decompressed. */
export interface Range {
  from: number;
  to: number;
}

/** The lines of a part, compressed or not. */
function contentOf(file: string): Buffer {
  const bytes = readPlain(file, MOST_PART_BYTES);
  return file.endsWith('.zst') ? unpackWhole(bytes) : bytes;
}

const within = (bytes: Buffer, ranges: readonly Range[]): Buffer =>
  Buffer.concat(ranges.map(({ from, to }) => bytes.subarray(from, to)));

/** Where cutOut puts the ranges of a part. */
export function keptIn(file: string, ranges: readonly Range[]): string {
  const [folder, name] = [path.dirname(file), path.basename(file)];
  try {
    return keptName(folder, name, within(contentOf(file), ranges)).file;
  } catch {
    // too large to be mended: that is said when it is tried
    return tornName(folder, name);
  }
}

/** Moves the ranges of a part to `<name>.torn`, then takes them out of the part. */
export function cutOut(file: string, ranges: readonly Range[]): void {
  const packed = file.endsWith('.zst');
  const bytes = contentOf(file);
  keepBytes(path.dirname(file), path.basename(file), within(bytes, ranges));
  const kept: Buffer[] = [];
  let at = 0;
  for (const { from, to } of ranges) {
    kept.push(bytes.subarray(at, from));
    at = to;
  }
  kept.push(bytes.subarray(at));
  const content = Buffer.concat(kept);
  replace(file, packed ? zstdCompressSync(content, { params: { [constants.ZSTD_c_checksumFlag]: 1 } }) : content);
}

/** Notes in agent.json, if there is one, what is no longer to be seen in the files themselves. */
export function noteDoubt(folder: string, where: string, why: string): void {
  const file = path.join(folder, 'agent.json');
  if (!isComplete(file)) return;
  const record = readJson(file, MOST_BYTES.agent) as AgentRecord;
  if (typeof record !== 'object' || record === null || Array.isArray(record)) return;
  replaceJson(file, { ...record, doubts: [...(Array.isArray(record.doubts) ? record.doubts : []), { where, why }] });
}

/** Puts a lost header before the rows of a part. */
export function writeHeader(file: string, header: readonly string[]): void {
  const packed = file.endsWith('.zst');
  const bytes = contentOf(file);
  const content = Buffer.concat([Buffer.from(`${header.join(',')}\n`), bytes]);
  replace(file, packed ? zstdCompressSync(content, { params: { [constants.ZSTD_c_checksumFlag]: 1 } }) : content);
}

/** Puts a plain part with the lines that are left of a compressed one that was cut off in its place. */
export function unpackStart(file: string, kept: string): void {
  const { bytes } = unpackFile(readPlain(file, MOST_PART_BYTES));
  replace(file.slice(0, -4), bytes.subarray(0, bytes.lastIndexOf(10) + 1));
  fs.renameSync(file, kept);
}

export function removeEmpty(file: string): void {
  if (fs.statSync(file).size > 0) throw new Error('somebody writes to it');
  fs.rmSync(file);
}

/** Renames a file that is in the way; it is kept. */
export function setAside(file: string): void {
  fs.renameSync(file, tornName(path.dirname(file), path.basename(file)));
}

function replace(file: string, content: Buffer): void {
  writeSynced(`${file}.tmp`, content);
  // when the newest sample was written is how long its agent lived
  const before = fs.statSync(file, { throwIfNoEntry: false });
  if (before !== undefined) fs.utimesSync(`${file}.tmp`, before.atime, before.mtime);
  fs.renameSync(`${file}.tmp`, file);
}

/** Can the file be read to its end, taken for what `as` would be? */
export function isComplete(file: string, as = file): boolean {
  try {
    if (as.endsWith('.parquet')) checkParquet(file);
    else if (/\.json(\.zst)?$/.test(as)) readJson(file, MOST_BYTES.statistics, as);
    else if (as.endsWith('.zst')) unpackWhole(readPlain(file, MOST_PART_BYTES));
    else return false;
    return true;
  } catch {
    return false;
  }
}

/** Whether what a file is called holds rows. */
export const holdsRows = (file: string): boolean => parseComplete(path.basename(file)) !== undefined;

/**
 * Is all of a temporary file in what it is made from, or in what it was to become: the plain form of a part, live parts of
 * its table, its sealed forms? One that is not whole holds nothing that anybody could use.
 */
export function hasOrigin(folder: string, temporary: string, target: string): boolean {
  const table = parseComplete(path.basename(target))?.table;
  if (table === undefined) return false;
  const files = tableFiles(fileNames(folder).files).get(table);
  const all = [files?.sealed, ...(files?.parts ?? [])].filter((each) => each !== undefined);
  const there = all.reduce((sum, each) => sum + readableRows(path.join(folder, each)), 0);
  return (
    (there > 0 || isComplete(target)) && there >= (isComplete(temporary, target) ? readableRows(temporary, target) : 0)
  );
}

/** How many rows can be had of a file, or of what is left of it. */
export function readableRows(file: string, as = file): number {
  try {
    if (as.endsWith('.parquet')) {
      const rows = new Rows();
      readParquet(file, rows, { wanted: new Set(), lost: () => {} });
      return rows.length;
    }
    const bytes = readPlain(file, MOST_PART_BYTES);
    const lines = as.endsWith('.zst') ? unpackFile(bytes).bytes : bytes;
    let count = 0;
    for (let at = lines.indexOf(10); at >= 0; at = lines.indexOf(10, at + 1)) count++;
    return Math.max(0, count - 1);
  } catch {
    return 0;
  }
}

/** Puts a whole file in the place of a damaged one, which is kept, and stays known as lost if it held rows. */
export function putInPlace(file: string, target: string): void {
  const [folder, name] = [path.dirname(target), path.basename(target)];
  const { table, form } = parseComplete(name) ?? {};
  if (fs.lstatSync(target, { throwIfNoEntry: false }) !== undefined) {
    const lost = (): string => tornName(folder, neverBack(table!, `${table}.${form}`), 'damaged');
    fs.renameSync(target, table === undefined ? tornName(folder, name) : lost());
  } else if (table !== undefined) rememberDamaged(folder, table, name);
  fs.renameSync(file, target);
}

export function sameContent(plain: string, packed: string): boolean {
  try {
    return contentOf(packed).equals(contentOf(plain));
  } catch {
    return false;
  }
}

/** What is wrong with the statistics of a sealed file that has so many rows; undefined: nothing. */
export function wrongStatistics(file: string, sealed: string, rows: number): string | undefined {
  const storedStatistics = readStatistics(file);
  if (storedStatistics === undefined) return 'is missing or damaged';
  if (storedStatistics.rows !== rows)
    return `speaks of ${count(storedStatistics.rows, 'row')}, but the table has ${rows}`;
  return storedStatistics.sealed === undefined || isAsSealed(sealed, storedStatistics.sealed)
    ? undefined
    : 'is of another file';
}

export function writeStatistics(file: string, batch: Batch, sealed: string): void {
  replace(file, statisticsBytes(file, measure(batch), sealed));
}
