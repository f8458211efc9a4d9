import { shownAddress } from '../base/address.ts';
import type { Database } from './connect.ts';
import { SCHEMA } from './migrations/index.ts';
import { schemaVersion } from './schema.ts';

/** What there is in a database. */
export interface DatabaseStatus {
  address: string;
  server: string;
  /** Version of the tables: 0 is none; `knows` is what this Tacho has. */
  schema: number;
  knows: number;
  jobs?: number;
  users?: number;
  hosts?: number;
  processes?: number;
  threads?: number;
  models?: number;
  bytes?: number;
  /** Bytes of each table without its indexes, and of each index; the largest first. */
  tables?: { table: string; bytes: number; rows: number }[];
  indexes?: { index: string; table: string; bytes: number }[];
  /** When the oldest and the newest job began, epoch microseconds. */
  oldest?: number;
  newest?: number;
  /** Can this user store jobs? */
  may_submit?: boolean;
  /** Nobody can: it is a standby, or set so. */
  read_only?: boolean;
}

export async function databaseStatus(database: Database): Promise<DatabaseStatus> {
  const { rows } = await database.query<{ server: string }>("select current_setting('server_version') as server");
  const status: DatabaseStatus = {
    address: shownAddress(database.address),
    server: `PostgreSQL ${rows[0]!.server}`,
    schema: await schemaVersion(database),
    knows: SCHEMA,
  };
  if (status.schema === 0 || status.schema > SCHEMA) return status;
  const statusRows = await database.query<Record<string, string | boolean | null>>(`
    select count(*) as jobs, coalesce(sum(processes), 0) as processes, coalesce(sum(threads), 0) as threads,
      (extract(epoch from min(start_time)) * 1000000)::bigint as oldest,
      (extract(epoch from max(start_time)) * 1000000)::bigint as newest,
      (select count(*) from tacho.users) as users, (select count(*) from tacho.hosts) as hosts,
      (select count(*) from tacho.models) as models,
      (select sum(pg_total_relation_size(oid)) from pg_class
        where relnamespace = 'tacho'::regnamespace and relkind = 'r') as bytes,
      has_table_privilege('tacho.jobs', 'insert') and has_table_privilege('tacho.processes', 'insert') as allowed,
      current_setting('transaction_read_only')::boolean as read_only
    from tacho.jobs`);
  const { allowed, read_only, ...numbers } = statusRows.rows[0]!;
  for (const [name, value] of Object.entries(numbers)) {
    if (value !== null) Object.assign(status, { [name]: Number(value) });
  }
  status.tables = await sizesOf(
    database,
    `select relname as table, pg_table_size(oid) as bytes, greatest(reltuples, 0) as rows from pg_class
      where relnamespace = 'tacho'::regnamespace and relkind = 'r' order by 2 desc, 1`,
  );
  status.indexes = await sizesOf(
    database,
    `select i.relname as index, t.relname as table, pg_relation_size(i.oid) as bytes
      from pg_index join pg_class i on i.oid = indexrelid join pg_class t on t.oid = indrelid
      where t.relnamespace = 'tacho'::regnamespace order by 3 desc, 1`,
  );
  status.read_only = read_only === true;
  status.may_submit = allowed === true && !status.read_only;
  return status;
}

/** Numbers of this size come as text. */
async function sizesOf<T>(database: Database, sql: string): Promise<T[]> {
  const { rows } = await database.query<Record<string, string | number>>(sql);
  const isNumber = (name: string): boolean => name === 'bytes' || name === 'rows';
  return rows.map(
    (row) =>
      Object.fromEntries(
        Object.entries(row).map(([name, value]) => [name, isNumber(name) ? Number(value) : value]),
      ) as T,
  );
}
