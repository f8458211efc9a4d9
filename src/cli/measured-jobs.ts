import { Fault, usage } from '../base/fault.ts';
import { count } from '../base/figure.ts';
import { warnAll } from '../base/warn.ts';
import type { Database } from '../database/connect.ts';
import { type MeasuredJob, measuredRecordings } from '../judge/outliers/measured-job.ts';
import { progress } from '../show/terminal/progress.ts';
import { type DatabaseOptions, databaseFor } from './database-option.ts';
import { findRecordings } from './find-recordings.ts';
import { parseTags } from './tags.ts';

export interface OpenJobsOptions extends DatabaseOptions {
  /** Only jobs with these tags. */
  tag?: readonly string[];
}

/** Jobs as they are named: recordings, folders that hold some, ids of jobs. */
export async function openJobs(names: readonly string[], options: OpenJobsOptions = {}): Promise<MeasuredJob[]> {
  const database = await databaseFor(names, options);
  return database === undefined ? jobsHere(names, options) : jobsThere(database, names, options.tag ?? []);
}

async function jobsThere(
  database: Database,
  names: readonly string[],
  tags: readonly string[],
): Promise<MeasuredJob[]> {
  const [{ findJobs, namedJobs }, { measuredJobs }] = await Promise.all([
    import('../database/find-jobs.ts'),
    import('../database/measured-jobs.ts'),
  ]);
  const wanted = parseTags(tags);
  const named = names.length === 0 ? await findJobs(database) : await namedJobs(database, names);
  const jobs = named.filter((job) => Object.entries(wanted).every(([key, value]) => job.tags[key] === value));
  if (jobs.length === 0) {
    throw new Fault(
      tags.length === 0
        ? 'there are no jobs in the database'
        : `none of ${count(named.length, 'job')} has the tag ${tags.join(', ')}`,
      {
        hint: 'tacho db jobs lists the jobs in the database',
      },
    );
  }
  warnAll(jobs.flatMap(({ troubles }) => troubles));
  return measuredJobs(database, jobs);
}

async function jobsHere(names: readonly string[], options: OpenJobsOptions): Promise<MeasuredJob[]> {
  const tags = options.tag ?? [];
  const wanted = Object.entries(parseTags(tags));
  const recordings = await findRecordings(names, 1, options);
  const jobs = recordings.filter(({ job }) => wanted.every(([key, value]) => job.tags[key] === value));
  if (jobs.length === 0) {
    throw new Fault(`none of ${count(recordings.length, 'job')} has the tag ${tags.join(', ')}`, {
      hint: 'tacho report FOLDER --format json has the tags of jobs, as job.tags',
    });
  }
  warnAll(jobs.flatMap(({ troubles }) => troubles));
  const { indexedFeatures } = await import('../history/index/indexed-features.ts');
  return measuredRecordings(jobs, indexedFeatures());
}

/** One job by its name. */
export async function openJob(name: string, options: DatabaseOptions = {}): Promise<MeasuredJob> {
  const jobs = await openJobs([name], options);
  if (jobs.length === 1) return jobs[0]!;
  const ids = jobs.slice(0, 8).map(({ job }) => job.id);
  throw usage(`${name} holds ${jobs.length} jobs; name one of them`, `there are ${ids.join(', ')}`);
}

/** A bar for reading many jobs. */
export function readingJobs(number: number): { advance: () => void; done: () => void } {
  const bar = progress('reading jobs', number);
  return { advance: () => bar.advance(1), done: () => bar.done() };
}
