import * as fs from 'node:fs';
import * as path from 'node:path';
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { count } from '../base/figure.ts';
import type { AgentRecord } from './agent-record.ts';
import type { Batch } from './batch.ts';
import { fileNames } from './file-names.ts';
import { tableFiles } from './files.ts';
import { measure } from './measure.ts';
import { checkParquet } from './parquet/read.ts';
import { MOST_BYTES, readJson } from './record-file.ts';
import { replaceJson } from './replace.ts';
import { isAsSealed, readStatistics, statisticsBytes } from './statistics-file.ts';
import { writeSynced } from './synced.ts';
import { keepBytes, tornName } from './torn.ts';
import { unpackFile } from './unpack.ts';

/** Bytes of a part, decompressed. */
export interface Range {
  from: number;
  to: number;
}

/** Moves the ranges of a part to `<name>.torn`, then takes them out of the part. */
export function cutOut(file: string, ranges: readonly Range[]): void {
  const packed = file.endsWith('.zst');
  const bytes = packed ? zstdDecompressSync(fs.readFileSync(file)) : fs.readFileSync(file);
  keepBytes(
    path.dirname(file),
    path.basename(file),
    Buffer.concat(ranges.map(({ from, to }) => bytes.subarray(from, to))),
  );
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
  replaceJson(file, { ...record, doubts: [...(record.doubts ?? []), { where, why }] });
}

/** Puts a lost header before the rows of a part. */
export function writeHeader(file: string, header: readonly string[]): void {
  const packed = file.endsWith('.zst');
  const bytes = packed ? zstdDecompressSync(fs.readFileSync(file)) : fs.readFileSync(file);
  const content = Buffer.concat([Buffer.from(`${header.join(',')}\n`), bytes]);
  replace(file, packed ? zstdCompressSync(content, { params: { [constants.ZSTD_c_checksumFlag]: 1 } }) : content);
}

/** Puts a plain part with the lines that are left of a compressed one that was cut off in its place. */
export function unpackStart(file: string, kept: string): void {
  const { bytes } = unpackFile(fs.readFileSync(file));
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
    else if (as.endsWith('.zst')) zstdDecompressSync(fs.readFileSync(file));
    else return false;
    return true;
  } catch {
    return false;
  }
}

/** Is there what a sealed file that was being written is made from: live parts of its table, or its other sealed form? */
export function hasOrigin(folder: string, sealed: string): boolean {
  const table = path.basename(sealed).replace(/\.(parquet|csv\.zst)$/, '');
  const files = tableFiles(fileNames(folder).files).get(table);
  const other = files?.sealed === path.basename(sealed) ? undefined : files?.sealed;
  return (files?.parts.length ?? 0) > 0 || (other !== undefined && isComplete(path.join(folder, other)));
}

export function sameContent(plain: string, packed: string): boolean {
  try {
    return zstdDecompressSync(fs.readFileSync(packed)).equals(fs.readFileSync(plain));
  } catch {
    return false;
  }
}

/** What is wrong with the statistics of a sealed file that has so many rows; undefined: nothing. */
export function wrongStatistics(file: string, sealed: string, rows: number): string | undefined {
  const found = readStatistics(file);
  if (found === undefined) return 'is missing or damaged';
  if (found.rows !== rows) return `speaks of ${count(found.rows, 'row')}, but the table has ${rows}`;
  return found.sealed === undefined || isAsSealed(sealed, found.sealed) ? undefined : 'is of another file';
}

export function writeStatistics(file: string, batch: Batch, sealed: string): void {
  replace(file, statisticsBytes(file, measure(batch), sealed));
}
