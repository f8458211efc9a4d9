import type { Command } from 'commander';
import { configFlags, configOf } from '../config/flags.ts';
import type { SettingKey } from '../config/settings.ts';
import type { Database } from '../database/connect.ts';
import { isPath, JOBS_ARGUMENT, recordingsOf } from './named-recordings.ts';

/** What a verb that can ask a database has among its options. */
export interface DatabaseOptions {
  db?: string;
  config?: string;
}

/** Gives a verb `--db`: its arguments are then jobs in a database, not recordings. `more`: other settings that it has flags for. */
export function databaseOption(command: Command, more: readonly SettingKey[] = []): Command {
  return configFlags(command, ['db', ...more]).hook('postAction', closeDatabases);
}

/** What verbs about processes are asked of. */
export function processesArgument(command: Command): Command {
  return databaseOption(command).usage('[RECORDING…] [options]').argument('[recordings...]', JOBS_ARGUMENT);
}

const open = new Map<string, Promise<Database>>();

/**
 * The database that is asked: the one that --db names. Without --db, names that are no recordings, folders or jobs of
 * recordings are jobs in the database that TACHO_DB or the configuration names, if one does.
 */
export async function databaseFor(names: readonly string[], options: DatabaseOptions): Promise<Database | undefined> {
  if (options.db === undefined && (names.length === 0 || names.some((name) => isPath(name)))) return undefined;
  const { db } = await configOf({ ...options }, ['db']);
  if (db === undefined || options.db !== undefined) return db === undefined ? undefined : opened(db);
  for (const name of names) if ((await recordingsOf(name, options)) !== undefined) return undefined;
  return opened(db);
}

/** The database that is named in any way, even if no job is. */
export async function namedDatabase(options: DatabaseOptions): Promise<Database | undefined> {
  return options.db === undefined ? undefined : opened(options.db);
}

async function opened(address: string): Promise<Database> {
  let database = open.get(address);
  if (database === undefined) {
    const [{ connect }, { needSchema }] = await Promise.all([
      import('../database/connect.ts'),
      import('../database/schema.ts'),
    ]);
    database = connect(address).then(async (made) => {
      await needSchema(made);
      return made;
    });
    open.set(address, database);
  }
  return database;
}

async function closeDatabases(): Promise<void> {
  for (const database of open.values()) await (await database).close();
  open.clear();
}
