import * as fs from 'node:fs';
import { crc32 } from 'node:zlib';
import { openNew, openPlain } from '../../base/plain-file.ts';
import { MOST_BYTES, readJson } from '../folder/record-file.ts';
import { fields, list, may, number, text } from '../folder/shape.ts';
import type { Damage } from '../read/csv-read.ts';
import { packText } from './pack-text.ts';
import { restored, shortened } from './short-statistics.ts';
import type { SeriesStatistics, TableStatistics } from './statistics.ts';

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
    if (!isUsable(found)) return undefined;
    found.series.forEach(restored);
    // JSON has no NaN: a table without rows has neither start nor end
    found.start ??= Number.NaN;
    found.end ??= Number.NaN;
    return found;
  } catch {
    return undefined;
  }
}

/** Written out, because there may be very many numbers, and each card waits for them. */
function isUsable(found: StatisticsFile): boolean {
  const { rows, series, series_total, start, end, damage = [], sealed } = found;
  return (
    typeof found.table === 'string' &&
    [rows, series_total].every((each) => Number.isSafeInteger(each) && each >= 0) &&
    isNumber(start) &&
    isNumber(end) &&
    Array.isArray(series) &&
    series.every(isSeries) &&
    (sealed === undefined || (isPlain(sealed) && isNumber(sealed.bytes))) &&
    DAMAGE(damage, []) === damage
  );
}

const DAMAGE = list(
  fields({
    file: text,
    torn_bytes: number,
    bad_lines: number,
    first_bad: list(fields({ line: number, why: text })),
    unreadable: may(text),
    lost_columns: may(list(text)),
  }),
);

function isSeries(each: SeriesStatistics): boolean {
  if (!isPlain(each) || !isNumber(each.start) || !isNumber(each.end) || !isNumber(each.samples)) return false;
  if (!isPlain(each.keys) || !isPlain(each.texts) || !isPlain(each.columns)) return false;
  for (const key in each.keys) if (typeof each.keys[key] !== 'string') return false;
  for (const key in each.texts) if (typeof each.texts[key] !== 'string') return false;
  for (const key in each.columns) {
    const column = each.columns[key] as unknown as Record<string, unknown>;
    if (!isPlain(column)) return false;
    for (const name in column) {
      if (isNumber(column[name])) continue;
      const { rate } = column;
      if (name !== 'rate' || !isPlain(rate)) return false;
      for (const each in rate) if (!isNumber((rate as Record<string, unknown>)[each])) return false;
    }
  }
  return true;
}

/** Or null, which JSON makes of what is no number; or missing, where it is left out. */
const isNumber = (value: unknown): boolean => typeof value === 'number' || value === null || value === undefined;

const isPlain = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export function isAsSealed(file: string, sealed: Fingerprint): boolean {
  try {
    const now = fingerprint(file);
    return now.bytes === sealed.bytes && now.crc32 === sealed.crc32;
  } catch {
    return false;
  }
}

/** Room for a small file: a card looks at hundreds of them. */
let room: Buffer | undefined;

function fingerprint(file: string): Fingerprint {
  const fd = openPlain(file, fs.constants.O_RDONLY, true);
  try {
    const bytes = fs.fstatSync(fd).size;
    if (bytes > SMALL_BYTES) return { bytes };
    room ??= Buffer.allocUnsafeSlow(SMALL_BYTES);
    let filled = 0;
    for (let got = 1; got > 0 && filled < bytes; filled += got)
      got = fs.readSync(fd, room, filled, bytes - filled, filled);
    return { bytes, crc32: crc32(room.subarray(0, filled)) };
  } finally {
    fs.closeSync(fd);
  }
}
