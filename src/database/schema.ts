import { shownAddress } from '../base/address.ts';
import { Fault } from '../base/fault.ts';
import { VERSION } from '../base/version.ts';
import type { Database } from './connect.ts';
import { type Migration, migrations, SCHEMA } from './migrations/index.ts';
import { databaseTrouble } from './trouble.ts';

/** Two that migrate at once would get in each other's way; the number is any that nobody else uses. */
const LOCK = 7_422_411_001;

/** The version of Tacho's tables in a database; 0: it has none. */
export async function schemaVersion(database: Database): Promise<number> {
  const { rows } = await database.query<{ there: boolean }>(
    "select to_regclass('tacho.schema_versions') is not null as there",
  );
  if (!rows[0]!.there) return 0;
  const versionRows = await database.query<{ version: number }>(
    'select max(version) as version from tacho.schema_versions',
  );
  return versionRows.rows[0]!.version ?? 0;
}

/** Every question and every submit begins with this: the tables must be those that this Tacho knows. */
export async function needSchema(database: Database): Promise<void> {
  const version = await schemaVersion(database);
  if (version === SCHEMA) return;
  const shown = shownAddress(database.address);
  if (version > SCHEMA) throw newer(shown, version);
  throw databaseTrouble(
    version === 0
      ? `the database ${shown} has no tables of Tacho's yet`
      : `the tables in the database ${shown} are of an older Tacho (schema ${version}; this one has ${SCHEMA})`,
    `tacho db migrate --db ${shown} ${version === 0 ? 'makes them' : 'brings them forward; what they hold is kept'}`,
  );
}

/** Does one piece of work on a connection whose tables this Tacho knows, and closes it. */
export async function withSchema<T>(opening: Promise<Database>, work: (database: Database) => Promise<T>): Promise<T> {
  const database = await opening;
  try {
    await needSchema(database);
    return await work(database);
  } finally {
    await database.close();
  }
}

/** Nobody can tell what the tables of a newer Tacho hold. */
export async function refuseNewer(database: Database): Promise<void> {
  const version = await schemaVersion(database);
  if (version > SCHEMA) throw newer(shownAddress(database.address), version);
}

function newer(shown: string, version: number): Fault {
  return databaseTrouble(
    `the tables in the database ${shown} are of a newer Tacho (schema ${version}; this one knows up to ${SCHEMA})`,
    'update Tacho on this machine; nothing has been changed',
  );
}

/** Brings the tables forward to `SCHEMA`, all steps or none. Returns the steps that were made. */
export async function migrate(database: Database, steps = migrations): Promise<readonly Migration[]> {
  await needUtf8(database);
  return database.transaction(async () => {
    await database.query('select pg_advisory_xact_lock($1)', [LOCK]);
    const version = await schemaVersion(database);
    if (version > steps.at(-1)!.version) throw newer(shownAddress(database.address), version);
    const due = steps.filter((step) => step.version > version);
    if (version === 0) {
      await database.query('create schema if not exists tacho');
      await database.query(
        'create table tacho.schema_versions (version integer primary key, what text not null, tacho text not null, applied timestamptz not null default now())',
      );
    }
    for (const { version: to, what, sql } of due) {
      await database.query(sql);
      await database.query('insert into tacho.schema_versions (version, what, tacho) values ($1, $2, $3)', [
        to,
        what,
        VERSION,
      ]);
    }
    return due;
  });
}

/** Arguments of commands are any text: other encodings have no place for some of it. */
async function needUtf8(database: Database): Promise<void> {
  const { rows } = await database.query<{ encoding: string }>("select current_setting('server_encoding') as encoding");
  const { encoding } = rows[0]!;
  if (encoding === 'UTF8') return;
  throw new Fault(
    `the database ${shownAddress(database.address)} keeps text as ${encoding}, which has not all letters`,
    {
      hint: 'createdb --encoding UTF8 --template template0 NAME makes one that has',
    },
  );
}

/** Removes Tacho's tables and all that they hold; those of a newer Tacho are left alone. */
export async function drop(database: Database): Promise<void> {
  await database.transaction(async () => {
    await database.query('select pg_advisory_xact_lock($1)', [LOCK]);
    await refuseNewer(database);
    await database.query('drop schema if exists tacho cascade');
  });
}
