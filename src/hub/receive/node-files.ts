import * as fs from 'node:fs';
import * as path from 'node:path';
import { made } from '../../base/made.ts';
import { parsePart } from '../../recording/folder/part-name.ts';
import { Unusable } from './names.ts';
import type { TableOnDisk } from './table-file.ts';

const OTHER = /^(.+)\.(?:parquet|stats\.json(?:\.zst)?)$/;

/** A hub looks at no more: a day of the fleet has a few hundred, and whoever owns a folder may put a million there. */
export const MOST_FILES = 20_000;

/** What lies in a node's folder, by table; `loose`: finished parts that are not compressed. Throws `Unusable` beyond `most`. */
export function nodeFiles(
  folder: string,
  most = Number.POSITIVE_INFINITY,
): { tables: Map<string, TableOnDisk>; loose: string[]; temporary: string[] } {
  const tables = new Map<string, TableOnDisk>();
  const loose: string[] = [];
  const temporary: string[] = [];
  for (const { name } of entriesIn(folder, most)) {
    if (name.endsWith('.tmp')) {
      temporary.push(name);
      continue;
    }
    const file = parsePart(name);
    const table = file?.table ?? OTHER.exec(name)?.[1];
    if (table === undefined) continue;
    const stat = fs.lstatSync(path.join(folder, name), { throwIfNoEntry: false });
    if (stat?.isFile() !== true) continue;
    const tableOnDisk = made(tables, table, () => ({ live: undefined, newest: 0, bytes: 0, changed: 0 }));
    tableOnDisk.bytes += stat.size;
    tableOnDisk.changed = Math.max(tableOnDisk.changed, stat.mtimeMs);
    if (file === undefined) continue;
    if (file.part !== undefined) tableOnDisk.newest = Math.max(tableOnDisk.newest, file.part);
    if (file.packed) continue;
    if (file.part === undefined) tableOnDisk.live = stat.size;
    else loose.push(name);
  }
  return { tables, loose, temporary };
}

/** What lies in a folder, by name. Throws `Unusable` when it is more than `most`. */
export function entriesIn(folder: string, most: number): fs.Dirent[] {
  const entries: fs.Dirent[] = [];
  const opened = fs.opendirSync(folder, { bufferSize: 256 });
  try {
    for (let entry = opened.readSync(); entry !== null; entry = opened.readSync()) {
      if (entries.length >= most) throw new Unusable(`there are more than ${most} files in a folder`);
      entries.push(entry);
    }
  } finally {
    opened.closeSync();
  }
  return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
}
