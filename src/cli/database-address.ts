import { usage } from '../base/fault.ts';
import { configOf } from '../config/flags.ts';

/** The database that --db, TACHO_DB or the configuration names. */
export async function needAddress(options: object): Promise<string> {
  const { db } = await configOf(options as Record<string, unknown>, ['db']);
  if (db !== undefined) return db;
  throw usage(
    'no database is named',
    'name one with --db postgres://user@host/name, in TACHO_DB, or as db = "…" in tacho.toml',
  );
}
