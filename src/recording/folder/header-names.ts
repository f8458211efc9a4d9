import { createHash } from 'node:crypto';
import * as path from 'node:path';
import { splitLine } from '../../base/csv.ts';
import { readPlain } from '../../base/plain-file.ts';
import type { Table } from '../../table/table.ts';
import { MOST_PART_BYTES, unpackFile } from '../sealed/unpack.ts';
import { formOf } from './describe.ts';
import { packedName } from './files.ts';

/*
 * Names of columns are most of what describes the tables of a short job. Those that stand in the header of a sealed CSV
 * file, in the same order, are left out of the description beside it.
 */

/** A description as it is stored: names of keys and columns may be missing. */
type Stored = Omit<Table, 'keys' | 'columns'> & { keys: object[]; columns: object[] };

/** Tables to be stored in the folder of their node, and what identifies the names that were left out. */
export function withoutHeaderNames(tables: readonly Table[], folder: string): { tables: object[]; names?: string } {
  const isHeaded = (table: Table): boolean =>
    table.columns.length > 0 && formOf(table).names.join('\n') === headerIn(folder, table.name)?.join('\n');
  const headed = new Set(tables.filter(isHeaded));
  const nameless = (each: object): object => ({ ...each, name: undefined });
  const stored = tables.map((table): object =>
    headed.has(table) ? { ...table, keys: table.keys.map(nameless), columns: table.columns.map(nameless) } : table,
  );
  return { tables: stored, ...(headed.size > 0 && { names: namesHash(tables) }) };
}

/** Tables with their names. One whose file has gone is left out: what is in a Parquet file is described there, too. */
export function withHeaderNames(stored: readonly unknown[], folder: string): unknown[] {
  return stored.flatMap((table) => {
    if (!isNameless(table)) return [table];
    const [, ...names] = headerIn(folder, table.name) ?? [];
    if (names.length !== table.keys.length + table.columns.length) return [];
    const named = (each: object, i: number): object => ({ name: names[i], ...each });
    return [
      {
        ...table,
        keys: table.keys.map(named),
        columns: table.columns.map((column, i) => named(column, table.keys.length + i)),
      },
    ];
  });
}

function isNameless(table: unknown): table is Stored {
  const { name, keys, columns } = (table ?? {}) as Partial<Stored>;
  if (typeof name !== 'string' || !Array.isArray(keys) || !Array.isArray(columns)) return false;
  return columns.length > 0 && [...keys, ...columns].every((each) => isObject(each) && !('name' in each));
}

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null;

/** The names in the header of a table's sealed CSV file; undefined: there is none that can be read. */
function headerIn(folder: string, table: string): string[] | undefined {
  const file = packedName(table);
  // a description that somebody else has written may say anything
  if (file !== path.basename(file)) return undefined;
  try {
    const { bytes } = unpackFile(readPlain(path.join(folder, file), MOST_PART_BYTES));
    return splitLine(bytes.toString('utf8', 0, Math.max(0, bytes.indexOf('\n'))));
  } catch {
    return undefined;
  }
}

/** Identifies the names of all keys and columns. */
export const namesHash = (tables: readonly Table[]): string =>
  createHash('sha256')
    .update(tables.map((table) => formOf(table).line).join('\n'))
    .digest('hex')
    .slice(0, 16);
