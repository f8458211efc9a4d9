import { type Command, Option } from 'commander';
import { BATCH_SYSTEMS, type BatchSystem } from '../advise/script.ts';
import { Fault, usage } from '../base/fault.ts';
import { pageWidth } from '../base/page-width.ts';
import { count } from '../base/readable.ts';
import { stated } from '../base/stated.ts';
import { configOf } from '../config/flags.ts';
import type { JobSummary } from '../history/tables/summary.ts';
import { databaseOption } from './database-option.ts';
import { type FilterOptions, filterOf, jobFilters, periodOptions, withHistory } from './history-options.ts';
import { isPath, JOBS_ARGUMENT, resolveNames } from './named-recordings.ts';

interface Options extends FilterOptions {
  last?: number;
  for?: BatchSystem;
  format: 'text' | 'json' | 'csv' | 'script';
}

function last(text: string): number {
  if (/^[1-9]\d{0,6}$/.test(text)) return Number(text);
  throw usage(`"${text}" is not a number of jobs`);
}

export function define(command: Command): void {
  const jobs = databaseOption(command).usage('[JOB…] [options]').argument('[jobs...]', JOBS_ARGUMENT);
  periodOptions(jobFilters(jobs), 'all there is')
    .option('--last <n>', 'only the newest N', last)
    .addOption(
      new Option('--for <scheduler>', 'write the script for it (default: that of the jobs)').choices(BATCH_SYSTEMS),
    )
    .addOption(
      new Option('-f, --format <format>', 'output format; script: only the lines for a job script')
        .choices(['text', 'json', 'csv', 'script'])
        .default('text'),
    )
    .addHelpText(
      'after',
      `
Advises time, memory, CPUs, GPUs and nodes from what past runs used (95th percentile plus a margin, never less than any
run used). It prints the head of a job script, what that saves and how sure it is. Runs that failed, or ran out of memory
or time, only give a lower bound. Jobs of different kinds get separate advice; the tasks of an array count as one kind.

Examples:
  tacho advise tacho-4711                        from one run
  tacho advise runs --user ada --name train --last 20
  tacho advise 4711                              the tasks of an array, recorded here
  tacho advise /archive/tacho --user ada --from -30d
  tacho advise runs --format script > head.sh
  tacho advise runs --for pbs
`,
    )
    .action(async (names: string[], options: Options) => {
      const chosen = await jobsOf(names, options);
      const { adviceOf } = await import('../advise/advise.ts');
      const advice = adviceOf(chosen, stated({ system: options.for }));
      const { adviseCsv, adviseJson, adviseScript, adviseText } = await import('../show/advise-text.ts');
      if (options.format === 'script' && advice.every(({ script }) => script.length === 0))
        throw usage('these jobs had no scheduler', 'say for which one the script is: --for slurm, flux or pbs');
      const print = { json: adviseJson, csv: adviseCsv, script: adviseScript, text: adviseText };
      process.stdout.write(print[options.format](advice, { stream: process.stdout, width: pageWidth() }));
    });
}

/** Jobs that are over, of what is named: files and folders are places, everything else is an id. */
async function jobsOf(names: readonly string[], options: Options): Promise<JobSummary[]> {
  const isPlace = (name: string): boolean => options.db === undefined && isPath(name);
  const paths = names.filter(isPlace);
  const unplaced = names.filter((name) => !isPlace(name));
  // ids of jobs that no recording is of may be in the history of this folder
  const recordingNames =
    paths.length === 0 && options.db === undefined ? await recordingsOfAll(unplaced, options) : undefined;
  const ids = recordingNames === undefined ? unplaced : [];
  const asked = ids.length === 0 ? options : { ...options, job: [...(options.job ?? []), ...ids] };
  const select = (places: readonly string[], from: Options): Promise<JobSummary[]> =>
    withHistory(places, from, (history) => history.selectJobs(filterOf(asked)));
  let jobs = await select(recordingNames ?? paths, options);
  // or in the database that TACHO_DB or the configuration names
  if (jobs.length === 0 && ids.length > 0 && paths.length === 0 && options.db === undefined) {
    const { db } = await configOf({ ...options }, ['db']);
    if (db !== undefined) jobs = await select([], { ...options, db });
  }
  if (jobs.length === 0) throw new Fault('no job matches', { hint: 'tacho jobs lists the jobs of a place' });
  const { isOver } = await import('../advise/evidence.ts');
  const over = jobs.filter(isOver);
  if (over.length === 0)
    throw new Fault(`${count(jobs.length, 'job')}, none of which is over: what they need is not known yet`, {
      hint: 'ask again when one has ended',
    });
  return options.last === undefined ? over : over.toSorted((a, b) => a.time - b.time).slice(-options.last);
}

/** The recordings of jobs by their ids, or of no id at all the usual ones; undefined: one of them has none. */
async function recordingsOfAll(ids: readonly string[], options: Options): Promise<string[] | undefined> {
  const { paths, refused } = await resolveNames(ids, options);
  return refused.length === 0 ? paths : undefined;
}
