import * as fs from 'node:fs';
import * as path from 'node:path';
import { isOwned } from './owned-file.ts';

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

/**
 * The parts of every table in a node's folder, by table; empty when the folder is gone. `owner`: only ordinary files that
 * belong to this user number.
 */
export function listParts(folder: string, owner?: number): Map<string, TableParts> {
  const tables = new Map<string, TableParts>();
  let names: string[];
  try {
    names = fs.readdirSync(folder);
  } catch {
    return tables;
  }
  for (const name of names) {
    const match = PART.exec(name);
    if (match === null || name.startsWith('.')) continue;
    if (owner !== undefined && !isOwnedFile(path.join(folder, name), owner)) continue;
    const parts = tables.get(match[1]!) ?? { live: false, numbered: [], newest: 0 };
    tables.set(match[1]!, parts);
    if (match[2] === undefined) {
      // a live part is never compressed
      if (match[3] === undefined) parts.live = true;
      continue;
    }
    const part = Number(match[2]);
    let entry = parts.numbered.find((each) => each.part === part);
    if (entry === undefined) {
      entry = { part, plain: false, packed: false };
      parts.numbered.push(entry);
    }
    if (match[3] === undefined) entry.plain = true;
    else entry.packed = true;
    parts.newest = Math.max(parts.newest, part);
  }
  for (const [table, parts] of tables) {
    if (!parts.live && parts.numbered.length === 0) tables.delete(table);
    parts.numbered.sort((a, b) => a.part - b.part);
  }
  return tables;
}

function isOwnedFile(file: string, owner: number): boolean {
  const stat = fs.lstatSync(file, { throwIfNoEntry: false });
  return stat !== undefined && isOwned(stat, owner);
}
