import * as fs from 'node:fs';
import * as path from 'node:path';

/** The folder of the index, beside the recordings; who looks for recordings passes it by. */
const INDEX_FOLDER = '.tacho-index';

export const indexFolder = (archive: string): string => path.join(archive, INDEX_FOLDER);

/** Whether an archive has an index that we can read. */
export function hasIndex(archive: string): boolean {
  try {
    fs.accessSync(path.join(indexFolder(archive), 'version'), fs.constants.R_OK);
    return true;
  } catch {
    return false;
  }
}

/** A change that is being made. */
export const JOURNAL = 'change.json';

const DAY_US = 86_400_000_000;

/** The day (UTC) of a moment in epoch microseconds, as in `day=2026-03-02`. */
export function dayOf(moment: number): string {
  const day = new Date(Math.floor(moment / DAY_US) * (DAY_US / 1000));
  return Number.isNaN(day.getTime()) ? '1970-01-01' : day.toISOString().slice(0, 10);
}

export const dayFolder = (table: string, day: string): string => `${table}/day=${day}`;

/** A file of rows: how many it has, and a mark of its own. */
export interface PartName {
  name: string;
  rows: number;
}

const PART = /^part-(\d+)-[\w-]+\.parquet$/;

export function partsIn(folder: string): PartName[] {
  let names: string[];
  try {
    names = fs.readdirSync(folder);
  } catch {
    return [];
  }
  return names.flatMap((name) => {
    const partMatch = PART.exec(name);
    return partMatch === null ? [] : [{ name, rows: Number(partMatch[1]) }];
  });
}

/** The days of a table that there are, in order. */
export function daysOf(index: string, table: string): string[] {
  let names: string[];
  try {
    names = fs.readdirSync(path.join(index, table));
  } catch {
    return [];
  }
  return names.flatMap((name) => /^day=(\d{4,6}-\d\d-\d\d)$/.exec(name)?.[1] ?? []).sort();
}
