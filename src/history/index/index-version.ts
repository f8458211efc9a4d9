import * as fs from 'node:fs';
import * as path from 'node:path';
import { quickMark } from '../../base/quick-hash.ts';
import { header } from '../../table/table.ts';
import { SUMMARY_TABLES } from '../tables/summary.ts';

/** The file `version`: which tables an index has, and how often it was changed. */
export interface Version {
  tables: string;
  changes: number;
}

/** Of the names and types of all columns: files of an index have the same ones. */
export const TABLES_MARK = quickMark(
  JSON.stringify(Object.values(SUMMARY_TABLES).map((table) => [header(table), table.columns.map((c) => c.type)])),
);

/** Undefined: there is no index, or none that can be read. */
export function indexVersion(index: string): Version | undefined {
  try {
    return JSON.parse(fs.readFileSync(path.join(index, 'version'), 'utf8')) as Version;
  } catch {
    return undefined;
  }
}
