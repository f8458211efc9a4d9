import * as fs from 'node:fs';
import { crc32 } from 'node:zlib';
import { openNew, openPlain } from '../../base/plain-file.ts';
import { MOST_BYTES, readJsonText } from '../folder/record-file.ts';
import { fields, list, may, number, text } from '../folder/shape.ts';
import type { Damage } from '../read/csv-read.ts';
import { parseEarlier } from './earlier-statistics.ts';
import { packText } from './pack-text.ts';
import type { TableStatistics } from './statistics.ts';
import { parseStatistics, statisticsText, type WantedFigures } from './statistics-text.ts';
import type { TableCurve } from './table-curves.ts';

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

/**
 * How much older than its statistics a sealed file is made to be: no multiple of the ticks of a file system's clock, so that
 * two files which somebody writes, even at once, are never so far apart.
 */
const APART_MS = 12.345;

/** Leaves the statistics of a sealed file. Not brought to the disk: when a crash loses them, they are computed again. */
export function writeStatistics(file: string, statistics: StatisticsFile, sealed: string): void {
  const fd = openNew(file);
  try {
    fs.writeFileSync(fd, statisticsBytes(file, statistics, sealed));
  } finally {
    fs.closeSync(fd);
  }
  const now = (performance.timeOrigin + performance.now()) / 1e3;
  fs.utimesSync(file, now, now);
  fs.utimesSync(sealed, now, now - APART_MS / 1e3);
}

/** What is to be in `file`, which is compressed if its name says so. */
export function statisticsBytes(file: string, statistics: StatisticsFile, sealed: string): Buffer {
  const text = statisticsText({ ...statistics, sealed: fingerprint(sealed) });
  return /\.zst(\.|$)/.test(file) ? packText(text, LEVEL) : Buffer.from(text);
}

/** The statistics that were left; undefined when there are none or they are damaged. */
export function readStatistics(file: string, wanted?: WantedFigures): StatisticsFile | undefined {
  try {
    const text = readJsonText(file, MOST_BYTES.statistics);
    const storedStatistics = text.endsWith('\n') ? parseStatistics(text, wanted) : parseEarlier(text);
    if (storedStatistics === undefined || !isUsable(storedStatistics)) return undefined;
    // JSON has no NaN: a table without rows has neither start nor end
    storedStatistics.start ??= Number.NaN;
    storedStatistics.end ??= Number.NaN;
    return storedStatistics;
  } catch {
    return undefined;
  }
}

function isUsable({
  table,
  rows,
  series_total,
  start,
  end,
  damage = [],
  sealed,
  curves = {},
}: StatisticsFile): boolean {
  return (
    typeof table === 'string' &&
    [rows, series_total].every((each) => Number.isSafeInteger(each) && each >= 0) &&
    isNumber(start) &&
    isNumber(end) &&
    (sealed === undefined || isNumber(sealed?.bytes)) &&
    DAMAGE(damage, []) === damage &&
    areCurves(curves)
  );
}

const DAMAGE = list(
  fields({
    file: text,
    torn_bytes: number,
    bad_lines: number,
    first_bad: list(fields({ line: may(number), why: text })),
    unreadable: may(text),
    lost_columns: may(list(text)),
  }),
);

/** Plain loops: every card looks at some thousands of values. */
function areCurves(curves: unknown): boolean {
  if (typeof curves !== 'object' || curves === null) return false;
  for (const curve of Object.values(curves) as Partial<TableCurve>[]) {
    if (!Number.isFinite(curve?.from) || !(curve.step! > 0) || !Array.isArray(curve.values)) return false;
    for (const value of curve.values) if (value !== null && !Number.isFinite(value)) return false;
  }
  return true;
}

/** Or null, which JSON makes of what is no number; or missing, where it is left out. */
const isNumber = (value: unknown): boolean => typeof value === 'number' || value === null || value === undefined;

/**
 * Whether the sealed file is the one that was measured. `statistics`: the file that says so; where both still have the times that
 * they were given, nobody has written to either.
 */
export function isAsSealed(file: string, sealed: Fingerprint, statistics?: string): boolean {
  try {
    const { size, mtimeMs } = fs.statSync(file);
    if (size !== sealed.bytes) return false;
    const apart = statistics === undefined ? Number.NaN : fs.statSync(statistics).mtimeMs - mtimeMs;
    return Math.abs(apart - APART_MS) < 0.01 || fingerprint(file).crc32 === sealed.crc32;
  } catch {
    return false;
  }
}

/** Room for a small file: a card looks at hundreds of them. */
let room: Buffer | undefined;

/** What a file is like now. */
export function fingerprint(file: string): Fingerprint {
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
