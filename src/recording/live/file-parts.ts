import * as fs from 'node:fs';
import { parsePart, partName } from '../folder/part-name.ts';

/** What is there of one table in a node's folder. The live part's number is the one after `newest`. */
export interface TableParts {
  /** `<table>.csv` is there. */
  live: boolean;
  /** Numbered parts, oldest first; `packed`: it is there as .zst (and perhaps still as .csv). */
  numbered: { part: number; plain: boolean; packed: boolean }[];
  /** 0 when there is no numbered part. */
  newest: number;
}

/** In an archive no more files of a folder are looked at, as by the hub itself: whoever owns it may put a million there. */
export const MOST_FILES = 20_000;

const MOST_TABLES = 512;

/**
 * The parts of every table in a node's folder, by table; empty when the folder is gone. `most`: of so many files at most,
 * and of no more tables than any agent writes.
 */
export function listParts(folder: string, most = Number.POSITIVE_INFINITY): Map<string, TableParts> {
  const tables = new Map<string, TableParts>();
  const numbered = new Map<string, TableParts['numbered'][number]>();
  for (const entry of firstEntries(folder, most)) {
    const { name } = entry;
    const file = parsePart(name);
    // whose it is counts when it is opened
    if (file === undefined || name.startsWith('.') || !entry.isFile()) continue;
    const { table, part, packed } = file;
    let tableParts = tables.get(table);
    if (tableParts === undefined) {
      if (tables.size >= MOST_TABLES && most < Number.POSITIVE_INFINITY) continue;
      tableParts = { live: false, numbered: [], newest: 0 };
      tables.set(table, tableParts);
    }
    if (part === undefined) {
      // a live part is never compressed
      if (!packed) tableParts.live = true;
      continue;
    }
    const key = partName(table, part);
    let filePart = numbered.get(key);
    if (filePart === undefined) {
      filePart = { part, plain: false, packed: false };
      numbered.set(key, filePart);
      tableParts.numbered.push(filePart);
    }
    if (packed) filePart.packed = true;
    else filePart.plain = true;
    tableParts.newest = Math.max(tableParts.newest, part);
  }
  for (const [table, tableParts] of tables) {
    if (!tableParts.live && tableParts.numbered.length === 0) tables.delete(table);
    tableParts.numbered.sort((a, b) => a.part - b.part);
  }
  return tables;
}

/** What lies in a folder, but no more than so much; nothing when it is gone, or none. */
export function firstEntries(folder: string, most: number): fs.Dirent[] {
  const entries: fs.Dirent[] = [];
  let opened: fs.Dir;
  try {
    opened = fs.opendirSync(folder, { bufferSize: 256 });
  } catch {
    return entries;
  }
  try {
    for (let entry = opened.readSync(); entry !== null && entries.length < most; entry = opened.readSync())
      entries.push(entry);
  } finally {
    opened.closeSync();
  }
  return entries;
}
