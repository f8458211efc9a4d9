import { Fault } from '../base/fault.ts';
import { warn } from '../base/warn.ts';
import { recordingsSource } from '../query/processes/processes.ts';
import type { ProcessSet, ProcessSource } from '../query/processes/set.ts';
import { linkProcesses } from '../query/processes/tree.ts';
import { type DatabaseOptions, databaseFor } from './database-option.ts';
import { findRecordings } from './find-recordings.ts';

export interface Opened {
  source: ProcessSource;
  set: ProcessSet;
}

/**
 * The processes of the recordings or jobs that were named (or of the recordings here), with their tree; what is damaged
 * is said. With `wanted`, only these columns need be read.
 */
export async function openProcesses(
  names: readonly string[],
  options: DatabaseOptions,
  wanted?: readonly string[],
): Promise<Opened> {
  const source = await sourceOf(names, options);
  const set = linkProcesses(await source.processes(wanted));
  for (const trouble of set.troubles) warn(trouble);
  if (set.length === 0) {
    throw new Fault(`no processes were recorded in ${set.jobs.map((job) => job.origin).join(', ')}`, {
      hint: 'tacho run records them, unless it is told not to',
    });
  }
  return { source, set };
}

async function sourceOf(names: readonly string[], options: DatabaseOptions): Promise<ProcessSource> {
  const database = await databaseFor(names, options);
  if (database === undefined) return recordingsSource(await findRecordings(names.length === 0 ? ['.'] : names));
  const { databaseSource } = await import('../database/source.ts');
  return databaseSource(database, names);
}
