import * as fs from 'node:fs';
import * as path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { DuckDBConnection, DuckDBValue } from '@duckdb/node-api';
import { Fault } from '../../base/fault.ts';
import { header } from '../../table/table.ts';
import { connectDuckDb } from '../index/connect-duckdb.ts';
import { dayOf, indexFolder, JOURNAL } from '../index/index-files.ts';
import { indexVersion, TABLES_MARK } from '../index/index-version.ts';
import { isMonth, partsBetween } from '../index/months.ts';
import { SUMMARY_TABLES, type SummaryTableName } from '../tables/summary.ts';
import { duckdb } from './dialect.ts';
import type { Cell, Engine, TableOf } from './engine.ts';
import { where } from './where.ts';

const ATTEMPTS = 20;
const PAUSE_MS = 100;

/** Asks the indexes of some archives as one. */
export async function openIndexEngine(archives: readonly string[]): Promise<Engine> {
  const indexes = archives.map(indexFolder);
  for (const archive of archives) needIndex(archive, indexFolder(archive));
  const connection = await connectDuckDb();
  const table: TableOf = (name, days, only) => filesOf(indexes, name, days, only);
  return {
    dialect: duckdb,
    query: (make) => whileUnchanged(indexes, () => ask(connection, make(table))),
    close: async () => connection.closeSync(),
  };
}

function needIndex(archive: string, index: string): void {
  const version = indexVersion(index);
  if (version?.tables === TABLES_MARK) return;
  const why = version === undefined ? 'has no index' : 'has an index of another version of Tacho';
  throw new Fault(`${archive} ${why}`, { hint: `tacho index ${archive} makes it` });
}

type Days = Parameters<TableOf>[1];

/** The files of the days that matter, as a table. */
export function filesOf(
  indexes: readonly string[],
  table: SummaryTableName,
  { from, to }: NonNullable<Days> = {},
  only?: readonly string[] | 'all',
): string {
  const first = from === undefined ? '' : dayOf(from);
  const last = to === undefined ? '9' : dayOf(to);
  const fileLists = Array.isArray(only)
    ? [{ days: only.filter((file) => !isMonth(file)), months: only.filter(isMonth) }]
    : indexes.map((index) => partsBetween(index, table, first, last));
  const days = fileLists.flatMap((each) => each.days);
  const months = fileLists.flatMap((each) => each.months);
  if (days.length + months.length === 0) return emptyTable(table, only !== undefined);
  const rowNumbers = only === undefined ? '' : ', filename = true, file_row_number = true';
  const read = (files: readonly string[], how: string): string =>
    `read_parquet([${files.map(duckdb.text).join(', ')}], ${how}${rowNumbers})`;
  const byDay = read(days, 'hive_partitioning = true, hive_types = {day: date}');
  if (months.length === 0) return byDay;
  // of a month some days may be meant
  const bounds = [
    ...(from === undefined ? [] : [`day >= date '${first}'`]),
    ...(to === undefined ? [] : [`day <= date '${last}'`]),
  ];
  const byMonth = `select * from ${read(months, 'hive_partitioning = false')} ${where(bounds)}`;
  return `(${byMonth}${days.length === 0 ? '' : ` union all by name select * from ${byDay}`})`;
}

/** A table without rows has its columns all the same. */
export function emptyTable(table: SummaryTableName, placed = false): string {
  const definition = SUMMARY_TABLES[table];
  const types = new Map<string, string>(
    definition.columns.map(({ name, type }) => [
      name,
      type === 'text' ? 'varchar' : type === 'int' ? 'bigint' : 'double',
    ]),
  );
  const columns = header(definition).map((name) => {
    const type = name === 'time' ? 'timestamptz' : (types.get(name) ?? 'varchar');
    return `null::${type} as "${name}"`;
  });
  return `(select ${columns.join(', ')}, null::date as day${placed ? ", '' as filename, 0 as file_row_number" : ''} where false)`;
}

/** An index that was changed while it was read is read again. */
async function whileUnchanged<T>(indexes: readonly string[], work: () => Promise<T>): Promise<T> {
  const changes = (): string => indexes.map((index) => indexVersion(index)?.changes).join();
  for (let attempt = 0; ; attempt++) {
    const before = changes();
    const isChanging = indexes.some((index) => fs.existsSync(path.join(index, JOURNAL)));
    try {
      const result = await work();
      if (attempt >= ATTEMPTS || (!isChanging && changes() === before)) return result;
    } catch (error) {
      if (attempt >= ATTEMPTS || (!isChanging && changes() === before)) throw asFault(error);
    }
    await pause(PAUSE_MS);
  }
}

function asFault(error: unknown): Fault {
  if (error instanceof Fault) return error;
  const [first] = (error as Error).message.split('\n') as [string];
  return new Fault(`cannot ask the index: ${first}`, { hint: 'tacho index ARCHIVE --verify says more', cause: error });
}

async function ask(connection: DuckDBConnection, sql: string): Promise<Record<string, Cell>[]> {
  const reader = await connection.runAndReadAll(sql);
  // column by column: DuckDB's rows ask for the type of each value again
  const columns = reader.getColumns().map((values) => values.map(cellOf));
  const named = reader.columnNames().map((name, i) => [name, columns[i]!] as const);
  return Array.from({ length: reader.currentRowCount }, (_, row) => {
    const cells: Record<string, Cell> = {};
    for (const [name, values] of named) cells[name] = values[row]!;
    return cells;
  });
}

/** Whole numbers are numbers as far as these hold them; all else that is no plain value is text. */
export function cellOf(value: DuckDBValue): Cell {
  if (value === null || value === undefined) return null;
  if (typeof value === 'bigint') {
    const number = Number(value);
    return Number.isSafeInteger(number) ? number : String(value);
  }
  return typeof value === 'object' ? String(value) : (value as Cell);
}
