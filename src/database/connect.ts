import type { Client, QueryResult, QueryResultRow } from 'pg';
import { parseAddress } from '../base/address.ts';
import { Fault } from '../base/fault.ts';
import { cannotOpen, faultOf } from './trouble.ts';

/** Longest wait for a database that does not answer; `?connect_timeout=` in the address changes it. */
const SECONDS = 10;

/** A connection. Its errors are faults for people. */
export interface Database {
  readonly address: string;
  readonly client: Client;
  query<R extends QueryResultRow>(sql: string, values?: readonly unknown[]): Promise<QueryResult<R>>;
  /** Runs something in a transaction: all of it is there afterwards, or nothing. */
  transaction<T>(work: () => Promise<T>): Promise<T>;
  /** Does what was sent wait because the database has not taken all of it? */
  isFull(): boolean;
  close(): Promise<void>;
}

/** Opens a connection. Users, hosts and passwords may also come from PGUSER, PGHOST, PGPASSWORD, ~/.pgpass. */
export async function connect(address: string): Promise<Database> {
  parseAddress(address);
  const { default: pg } = await import('pg');
  if (/[?&]ssl/.test(address) || process.env.PGSSLMODE)
    (await import('../trust/extra-certificates.ts')).trustExtraCertificates();
  let client: Client;
  try {
    client = new pg.Client({
      connectionString: asPsqlMeansIt(address),
      application_name: 'tacho',
      connectionTimeoutMillis: 1000 * timeoutOf(address),
      keepAlive: true,
    });
    // a connection that breaks while nothing is asked: the next question says so
    client.on('error', () => {});
    await client.connect();
  } catch (error) {
    const fault = faultOf(error, address, 'open');
    throw fault instanceof Fault ? fault : cannotOpen(address, error);
  }
  const query: Database['query'] = async (sql, values) => {
    try {
      return await client.query(sql, values as unknown[] | undefined);
    } catch (error) {
      throw faultOf(error, address);
    }
  };
  return {
    address,
    client,
    query,
    isFull: () => client.connection.stream.writableNeedDrain,
    async transaction(work) {
      await query('begin');
      try {
        const result = await work();
        await query('commit');
        return result;
      } catch (error) {
        // when the connection is gone, so is the transaction
        await client.query('rollback').catch(() => {});
        throw faultOf(error, address);
      }
    },
    close: () => client.end().catch(() => {}),
  };
}

/** Opens a connection for one piece of work. */
export async function withDatabase<T>(address: string, work: (database: Database) => Promise<T>): Promise<T> {
  const database = await connect(address);
  try {
    return await work(database);
  } catch (error) {
    throw faultOf(error, address);
  } finally {
    await database.close();
  }
}

/** `sslmode` as psql understands it: `require` encrypts, only `verify-ca` and `verify-full` look at certificates. */
function asPsqlMeansIt(address: string): string {
  if (!/[?&]sslmode=/.test(address) || /[?&]uselibpqcompat=/.test(address)) return address;
  return `${address}&uselibpqcompat=true`;
}

function timeoutOf(address: string): number {
  const statedSeconds = /[?&]connect_timeout=(\d+)/.exec(address)?.[1] ?? process.env.PGCONNECT_TIMEOUT;
  return Number(statedSeconds) > 0 ? Number(statedSeconds) : SECONDS;
}
