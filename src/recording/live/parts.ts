import * as fs from 'node:fs';

/** What is there of one table in a node's folder. The live part's number is the one after `newest`. */
export interface TableParts {
  /** `<table>.csv` is there. */
  live: boolean;
  /** Numbered parts, oldest first; `packed`: it is there as .zst (and perhaps still as .csv). */
  numbered: { part: number; plain: boolean; packed: boolean }[];
  /** 0 when there is no numbered part. */
  newest: number;
}

const PART = /^(.+?)(?:\.(\d{4,}))?\.csv(\.zst)?$/;

export const partName = (table: string, part: number): string => `${table}.${String(part).padStart(4, '0')}.csv`;
export const liveName = (table: string): string => `${table}.csv`;

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
    const match = PART.exec(name);
    // whose it is counts when it is opened
    if (match === null || name.startsWith('.') || !entry.isFile()) continue;
    let parts = tables.get(match[1]!);
    if (parts === undefined) {
      if (tables.size >= MOST_TABLES && most < Number.POSITIVE_INFINITY) continue;
      parts = { live: false, numbered: [], newest: 0 };
      tables.set(match[1]!, parts);
    }
    if (match[2] === undefined) {
      // a live part is never compressed
      if (match[3] === undefined) parts.live = true;
      continue;
    }
    const part = Number(match[2]);
    const key = partName(match[1]!, part);
    let filePart = numbered.get(key);
    if (filePart === undefined) {
      filePart = { part, plain: false, packed: false };
      numbered.set(key, filePart);
      parts.numbered.push(filePart);
    }
    if (match[3] === undefined) filePart.plain = true;
    else filePart.packed = true;
    parts.newest = Math.max(parts.newest, part);
  }
  for (const [table, parts] of tables) {
    if (!parts.live && parts.numbered.length === 0) tables.delete(table);
    parts.numbered.sort((a, b) => a.part - b.part);
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
