import { Fault } from '../base/fault.ts';
import { warnAll } from '../base/warn.ts';
import { recordingsSource } from '../query/processes/processes.ts';
import type { ProcessColumns, ProcessSet, ProcessSource } from '../query/processes/set.ts';
import { processesIn, type SelectedJob, selectStored } from '../query/spans/processes.ts';
import { type SpanQuery, selectEach } from '../query/spans/select.ts';
import { askForSteps } from './ask-scheduler.ts';
import { type DatabaseOptions, databaseFor } from './database-option.ts';
import { findRecordings } from './find-recordings.ts';
import { leaveOut, type SpanOptions, spanQuery } from './span-options.ts';

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
  options: DatabaseOptions & SpanOptions,
  wanted?: readonly string[],
): Promise<Opened> {
  const query = spanQuery(options);
  const { source, select } = await sourceOf(names, options, query);
  const columns = await source.processes(query.step === undefined ? wanted : undefined);
  const set = processesIn(columns, select(columns));
  warnAll(set.troubles);
  if (columns.length === 0) {
    throw new Fault(`no processes were recorded in ${set.jobs.map((job) => job.origin).join(', ')}`, {
      hint: 'tacho run records them, unless --no-processes is given',
    });
  }
  if (set.length === 0) throw new Fault('no process ran in the part of the job that was asked for');
  return { source, set };
}

interface SelectingSource {
  source: ProcessSource;
  /** What is asked for, by the place of the job. */
  select(columns: ProcessColumns): Map<number, SelectedJob>;
}

async function sourceOf(
  names: readonly string[],
  options: DatabaseOptions,
  query: SpanQuery,
): Promise<SelectingSource> {
  const database = await databaseFor(names, options);
  if (database === undefined) {
    const allRecordings = await findRecordings(names, 1, options);
    await askForSteps(allRecordings, query);
    const selections = selectEach(allRecordings, query, leaveOut);
    const recordings = allRecordings.filter((recording) => selections.has(recording));
    const selected = recordings.map((each) => ({ selection: selections.get(each), steps: each.job.steps }));
    return { source: recordingsSource(recordings), select: () => new Map(selected.entries()) };
  }
  const { databaseSource } = await import('../database/source.ts');
  const source = await databaseSource(database, names);
  const select = ({ jobs, job, step }: ProcessColumns): Map<number, SelectedJob> =>
    new Map(
      jobs.map((each, jobIndex) => {
        const steps = [...new Set(step.filter((name, i) => name !== '' && job[i] === jobIndex))];
        return [jobIndex, { selection: selectStored(each, steps, query) }];
      }),
    );
  return { source, select };
}
