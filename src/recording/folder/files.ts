import { made } from '../../base/made.ts';
import { parseComplete, parsePart } from './part-name.ts';

/** The files of one table of one node, as names inside the node's folder. */
export interface TableFiles {
  /** Live parts, oldest first: `<table>.0001.csv.zst`, …, `<table>.csv`. */
  parts: string[];
  /** Once sealed: `<table>.parquet`, or `<table>.csv.zst` while that is smaller. */
  sealed?: string;
  /** `<table>.stats.json.zst`, left by seal; `<table>.stats.json` by an earlier version. A small table needs none. */
  statistics?: string;
}

export const parquetName = (table: string): string => `${table}.parquet`;
export const packedName = (table: string): string => `${table}.csv.zst`;
export const statisticsName = (table: string): string => `${table}.stats.json.zst`;
export const isParquet = (name: string | undefined): boolean => name?.endsWith('.parquet') === true;

const STATISTICS = /^(.+)\.stats\.json(\.zst)?$/;

/** The table whose statistics a file holds; undefined: it is something else. */
export const statisticsOf = (name: string): string | undefined =>
  name.includes('.stats.json') ? STATISTICS.exec(name)?.[1] : undefined;

const DAMAGED = /^(.+?)(?:\.\d+)?\.damaged$/;

/** The file that was set aside under this name, with rows that are nowhere else, and its table; undefined: none was. */
export function damagedOf(name: string): { table: string; file: string; kept: string } | undefined {
  const file = name.endsWith('.damaged') ? DAMAGED.exec(name)?.[1] : undefined;
  const table = file === undefined ? undefined : parseComplete(file)?.table;
  return table === undefined ? undefined : { table, file: file!, kept: name };
}

/** Sorts the names in a node's folder by table; names that belong to no table are left out. */
export function tableFiles(names: readonly string[]): Map<string, TableFiles> {
  const tables = new Map<string, TableFiles>();
  const of = (table: string): TableFiles => {
    return made(tables, table, () => ({ parts: [] }));
  };
  const order = new Map<string, number>();
  for (const name of names) {
    const measured = statisticsOf(name);
    if (name.endsWith('.parquet')) of(name.slice(0, -8)).sealed = name;
    else if (measured !== undefined) {
      const files = of(measured);
      if (files.statistics === undefined || name.endsWith('.zst')) files.statistics = name;
    } else {
      const file = parsePart(name);
      if (file === undefined) continue;
      of(file.table).parts.push(name);
      order.set(name, file.part ?? (file.packed ? 0 : Number.POSITIVE_INFINITY));
    }
  }
  for (const [table, files] of tables) {
    // the compressed form of the same part comes first: it is whole when it is there
    files.parts.sort((a, b) => order.get(a)! - order.get(b)! || (a < b ? 1 : -1));
    // beside a Parquet file it is what that was made from, and was about to be removed
    if (files.sealed === undefined && files.parts[0] === packedName(table)) files.sealed = files.parts.shift()!;
    if (files.parts.length === 0 && files.sealed === undefined) tables.delete(table);
  }
  return new Map([...tables].sort(([a], [b]) => (a < b ? -1 : 1)));
}
