import * as fs from 'node:fs';
import { crc32 } from 'node:zlib';
import { openNew } from '../base/plain-file.ts';
import type { Damage } from './csv-read.ts';
import { packText } from './pack-text.ts';
import { MOST_BYTES, readJson } from './record-file.ts';
import { restored, shortened } from './short-statistics.ts';
import type { TableStatistics } from './statistics.ts';

/** What the sealed file was like when its statistics were written: whether it still is, is seen without taking it apart. */
interface Fingerprint {
  bytes: number;
  /** Of the whole file, when it is small. */
  crc32?: number;
}

export interface StatisticsFile extends TableStatistics {
  damage?: Damage[];
  sealed?: Fingerprint;
}

/** Larger files are not read by everybody who only needs their statistics. */
export const SMALL_BYTES = 1 << 20;

/** Higher ones cost much and gain little here. */
const LEVEL = 9;

/** Leaves the statistics of a sealed file. Not brought to the disk: when a crash loses them, they are computed again. */
export function writeStatistics(file: string, statistics: StatisticsFile, sealed: string): void {
  const fd = openNew(file);
  try {
    fs.writeFileSync(fd, statisticsBytes(file, statistics, sealed));
  } finally {
    fs.closeSync(fd);
  }
}

/** What is to be in `file`, which is compressed if its name says so. */
export function statisticsBytes(file: string, { series, ...rest }: StatisticsFile, sealed: string): Buffer {
  const text = JSON.stringify({ ...rest, sealed: fingerprint(sealed), series: series.map(shortened) });
  return /\.zst(\.|$)/.test(file) ? packText(text, LEVEL) : Buffer.from(text);
}

/** The statistics that were left; undefined when there are none or they are damaged. */
export function readStatistics(file: string): StatisticsFile | undefined {
  try {
    const found = readJson(file, MOST_BYTES.statistics) as StatisticsFile;
    found.series.forEach(restored);
    // JSON has no NaN: a table without rows has neither start nor end
    return { ...found, start: found.start ?? Number.NaN, end: found.end ?? Number.NaN };
  } catch {
    return undefined;
  }
}

export function isAsSealed(file: string, sealed: Fingerprint): boolean {
  try {
    const now = fingerprint(file);
    return now.bytes === sealed.bytes && now.crc32 === sealed.crc32;
  } catch {
    return false;
  }
}

function fingerprint(file: string): Fingerprint {
  const bytes = fs.statSync(file).size;
  return bytes > SMALL_BYTES ? { bytes } : { bytes, crc32: crc32(fs.readFileSync(file)) };
}
