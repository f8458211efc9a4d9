import * as path from 'node:path';
import { reason } from '../../base/fault.ts';
import { SUMMARY_TABLES } from '../tables/summary.ts';
import { Catalogue } from './catalogue.ts';
import { entryOf } from './entry.ts';
import { dayFolder, daysOf, indexFolder, partsIn } from './index-files.ts';
import { indexVersion, TABLES_MARK } from './index-version.ts';
import { TABLE_NAMES } from './index-writer.ts';
import { readRows } from './row-file.ts';

/** What is wrong with an index, in words; nothing: all is well. Rows and catalogue are compared, every file is read. */
export function verifyIndex(archive: string): { wrong: string[]; rows: Record<string, number>; recordings: number } {
  const index = indexFolder(archive);
  const wrong: string[] = [];
  const version = indexVersion(index);
  if (version === undefined) wrong.push('there is no index');
  else if (version.tables !== TABLES_MARK) wrong.push('another version of Tacho has made it');
  const catalogue = new Catalogue(index);
  const counts = new Map<string, number>();
  const rows: Record<string, number> = {};
  for (const table of TABLE_NAMES) {
    rows[table] = 0;
    for (const day of daysOf(index, table))
      for (const { name, rows: statedRows } of partsIn(path.join(index, dayFolder(table, day)))) {
        const file = path.join(index, dayFolder(table, day), name);
        try {
          const all = readRows(file, SUMMARY_TABLES[table]);
          if (all.length !== statedRows) wrong.push(`${file} has ${all.length} rows, and says ${statedRows}`);
          rows[table] += all.length;
          if (table === 'jobs') for (const row of all) counts.set(entryOf(row), (counts.get(entryOf(row)) ?? 0) + 1);
        } catch (error) {
          wrong.push(`${file}: ${reason(error)}`);
        }
      }
  }
  let recordings = 0;
  for (const { id, days } of catalogue.all()) {
    recordings++;
    if ((days.jobs?.length ?? 0) > 0 && !counts.has(id)) wrong.push(`the row of ${id} is missing`);
  }
  for (const [id, count] of counts) {
    if (count > 1) wrong.push(`${id} has ${count} rows`);
    if (catalogue.get(id) === undefined) wrong.push(`${id} has a row, and is not in the catalogue`);
  }
  return { wrong, rows, recordings };
}
