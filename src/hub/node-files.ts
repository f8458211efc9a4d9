import * as fs from 'node:fs';
import * as path from 'node:path';
import type { Found } from './table-file.ts';

const PART = /^(.+?)(?:\.(\d{4,}))?\.csv(\.zst)?$/;
const OTHER = /^(.+)\.(?:parquet|stats\.json(?:\.zst)?)$/;

/** What lies in a node's folder, by table; `loose`: finished parts that are not compressed. */
export function nodeFiles(folder: string): { tables: Map<string, Found>; loose: string[]; temporary: string[] } {
  const tables = new Map<string, Found>();
  const loose: string[] = [];
  const temporary: string[] = [];
  for (const name of fs.readdirSync(folder)) {
    if (name.endsWith('.tmp')) {
      temporary.push(name);
      continue;
    }
    const part = PART.exec(name);
    const table = part?.[1] ?? OTHER.exec(name)?.[1];
    if (table === undefined) continue;
    const stat = fs.lstatSync(path.join(folder, name), { throwIfNoEntry: false });
    if (stat?.isFile() !== true) continue;
    let found = tables.get(table);
    if (found === undefined) {
      found = { live: undefined, newest: 0, bytes: 0, changed: 0 };
      tables.set(table, found);
    }
    found.bytes += stat.size;
    found.changed = Math.max(found.changed, stat.mtimeMs);
    if (part?.[2] !== undefined) {
      found.newest = Math.max(found.newest, Number(part[2]));
      if (part[3] === undefined) loose.push(name);
    } else if (part !== null && part[3] === undefined) found.live = stat.size;
  }
  return { tables, loose, temporary };
}
