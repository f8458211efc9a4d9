import { Transform, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { usage } from '../base/fault.ts';
import { suggest } from '../base/suggest.ts';
import type { Database } from './connect.ts';
import { faultOf } from './trouble.ts';

/** A column as it is handed out: times as epoch microseconds, lists and objects as JSON. */
export interface StoredColumn {
  name: string;
  type: 'text' | 'number' | 'time' | 'truth' | 'json';
}

export interface StoredTable {
  name: string;
  columns: StoredColumn[];
}

const TYPES: Record<string, StoredColumn['type']> = {
  text: 'text',
  boolean: 'truth',
  json: 'json',
  jsonb: 'json',
  ARRAY: 'json',
  'timestamp with time zone': 'time',
};

/** Tacho's tables in the database that this user may read, with their columns; `threads` has all of `thread_rows`. */
export async function databaseTables(database: Database): Promise<StoredTable[]> {
  const { rows } = await database.query<{ table_name: string; column_name: string; data_type: string }>(
    `select table_name, column_name, data_type from information_schema.columns
      where table_schema = 'tacho' and table_name <> 'thread_rows' order by table_name, ordinal_position`,
  );
  const tables = Map.groupBy(rows, (row) => row.table_name);
  return [...tables].map(([name, columns]) => ({
    name,
    columns: columns.map((column) => ({ name: column.column_name, type: TYPES[column.data_type] ?? 'number' })),
  }));
}

export interface TableQuestion {
  table: string;
  /** All columns unless some are named. */
  columns?: readonly string[];
  /** Only rows that belong to these jobs, by their numbers here. */
  jobs?: readonly number[];
  format: 'csv' | 'json';
}

/** Which rows belong to jobs, where there is no column `job`. */
const BY_JOB: Record<string, (jobs: string) => string> = {
  users: (jobs) => `name in (select user_name from tacho.jobs where job in (${jobs}))`,
  hosts: (jobs) => `name in (select host from tacho.job_hosts where job in (${jobs}))`,
};

/** Writes the rows of a table to a stream, as CSV with a header or as a list of objects. */
export async function writeTable(database: Database, question: TableQuestion, out: Writable): Promise<void> {
  const table = named(await databaseTables(database), question.table, 'table');
  const columns = question.columns?.map((name) => named(table.columns, name, 'column')) ?? table.columns;
  const select = selectOf(table, columns, question.jobs, question.format);
  const { to } = await import('pg-copy-streams');
  try {
    if (question.format === 'csv') {
      const stream = database.client.query(to(`copy (${select}) to stdout (format csv, header)`));
      await pipeline(stream, out, { end: false });
      return;
    }
    // JSON has no control characters: with two of them as signs of CSV each object is a line as it is
    const form = "format csv, quote e'\\x01', delimiter e'\\x02'";
    const stream = database.client.query(
      to(`copy (select row_to_json(t)::text from (${select}) t) to stdout (${form})`),
    );
    await pipeline(stream, listOfLines(), out, { end: false });
  } catch (error) {
    throw faultOf(error, database.address);
  }
}

function named<T extends { name: string }>(all: readonly T[], name: string, what: string): T {
  const matchingTable = all.find((one) => one.name === name);
  if (matchingTable !== undefined) return matchingTable;
  const names = all.map((one) => one.name);
  const near = suggest(name, names);
  const hint = `${near === undefined ? '' : `did you mean ${near}? `}there are ${names.join(', ')}`;
  throw usage(`the database has no ${what} "${name}"`, hint);
}

function selectOf(
  table: StoredTable,
  columns: readonly StoredColumn[],
  jobs: readonly number[] | undefined,
  format: TableQuestion['format'],
): string {
  const picked = columns.map(({ name, type }) => {
    if (type === 'time') return `(extract(epoch from "${name}") * 1000000)::bigint as "${name}"`;
    return type === 'json' && format === 'csv' ? `to_json("${name}")::text as "${name}"` : `"${name}"`;
  });
  const ofJobs = table.columns.some(({ name }) => name === 'job')
    ? (list: string) => `job in (${list})`
    : BY_JOB[table.name];
  const where = jobs === undefined || ofJobs === undefined ? '' : ` where ${ofJobs(jobs.join(', ') || 'null')}`;
  const order = table.columns.filter(({ name }) => ['job', 'process', 'thread', 'name'].includes(name));
  const by = order.length === 0 ? '' : ` order by ${order.map(({ name }) => `"${name}"`).join(', ')}`;
  return `select ${picked.join(', ')} from tacho."${table.name}"${where}${by}`;
}

/** Lines, each an object, become a JSON list. */
function listOfLines(): Transform {
  let begun = false;
  let held = false;
  return new Transform({
    transform(chunk: Buffer, _, done) {
      // the last newline is held back until it is known whether something follows
      const text = chunk.toString('latin1');
      const whole = text.endsWith('\n') ? text.slice(0, -1) : text;
      const lead = begun ? (held ? ',\n' : '') : '[\n';
      begun = true;
      held = whole.length < text.length;
      done(null, Buffer.from(lead + whole.replaceAll('\n', ',\n'), 'latin1'));
    },
    flush(done) {
      done(null, begun ? '\n]\n' : '[]\n');
    },
  });
}
