import type { JobNumber, JobSummary, JobText } from '../tables/summary.ts';

/** Which jobs are meant. Lists: any of them, with `*` and `?` as in file names. What is not stated does not matter. */
export interface JobFilter {
  users?: readonly string[];
  accounts?: readonly string[];
  partitions?: readonly string[];
  states?: readonly string[];
  names?: readonly string[];
  programs?: readonly string[];
  /** Ids; the id of an array means all of its tasks. */
  jobs?: readonly string[];
  clusters?: readonly string[];
  /** Jobs that ran on one of these. */
  nodes?: readonly string[];
  /** All of these. */
  tags?: Readonly<Record<string, string>>;
  /** Jobs with one of these findings. */
  findings?: readonly string[];
  origins?: readonly string[];
  /** With GPUs, or without any. */
  gpu?: boolean;
  /** Without these. */
  not?: Pick<JobFilter, 'users' | 'accounts' | 'partitions' | 'states' | 'names' | 'programs' | 'jobs'>;
  /** Epoch microseconds: the job ended in [from, to); one that runs ends now. */
  from?: number;
  to?: number;
  /** Both ends included; a job of which the column is not known is not among them. */
  ranges?: { readonly [C in JobNumber]?: { min?: number; max?: number } };
  order?: { by: JobNumber | JobText | 'time'; descending?: boolean };
  limit?: number;
  /** Only these columns of them are needed; they may have others. */
  columns?: readonly (keyof JobSummary)[];
}

/** The column that each list is about. */
export const LISTED = {
  users: 'user',
  accounts: 'account',
  partitions: 'partition',
  states: 'state',
  names: 'name',
  programs: 'program',
  clusters: 'cluster',
  origins: 'origin',
} as const satisfies { [K in keyof JobFilter]?: JobText };

/** A pattern of file names as a regular expression. */
export function globPattern(glob: string): string {
  const escaped = glob.replaceAll(/[.+^${}()|[\]\\]/g, '\\$&');
  return `^${escaped.replaceAll('*', '.*').replaceAll('?', '.')}$`;
}

const matches = (globs: readonly string[], value: string | undefined): boolean =>
  globs.some((glob) => new RegExp(globPattern(glob), 's').test(value ?? ''));

/** Of a job and of a task of an array. */
const isNamed = (ids: readonly string[], { job, array }: JobSummary): boolean =>
  matches(ids, job) || (array !== undefined && matches(ids, array));

/** The same as the SQL of it, for rows at hand. */
export function isWanted(job: JobSummary, filter: JobFilter): boolean {
  for (const name of Object.keys(LISTED) as (keyof typeof LISTED)[]) {
    const list = filter[name];
    if (list !== undefined && !matches(list, job[LISTED[name]])) return false;
    const without = name in (filter.not ?? {}) ? (filter.not as JobFilter)[name] : undefined;
    if (without !== undefined && matches(without, job[LISTED[name]])) return false;
  }
  if (filter.jobs !== undefined && !isNamed(filter.jobs, job)) return false;
  if (filter.not?.jobs !== undefined && isNamed(filter.not.jobs, job)) return false;
  if (filter.nodes !== undefined && !job.node_list?.split(',').some((node) => matches(filter.nodes!, node)))
    return false;
  if (filter.findings !== undefined && !job.findings?.split(',').some((id) => matches(filter.findings!, id)))
    return false;
  if (filter.tags !== undefined) {
    const own = JSON.parse(job.tags ?? '{}') as Record<string, string>;
    if (!Object.entries(filter.tags).every(([key, value]) => own[key] === value)) return false;
  }
  if (filter.gpu !== undefined && filter.gpu !== (job.gpus ?? 0) > 0) return false;
  const end = job.end_time ?? Number.POSITIVE_INFINITY;
  if (filter.from !== undefined && end < filter.from) return false;
  // what runs now has not ended later than any moment that is over
  if (filter.to !== undefined && (job.end_time ?? job.time) >= filter.to) return false;
  for (const [column, { min, max }] of Object.entries(filter.ranges ?? {}) as [
    JobNumber,
    { min?: number; max?: number },
  ][]) {
    const value = job[column];
    if (value === undefined || value < (min ?? Number.NEGATIVE_INFINITY) || value > (max ?? Number.POSITIVE_INFINITY))
      return false;
  }
  return true;
}

/** In the wanted order (oldest first), as many as are wanted; what is not known comes last. */
export function inOrder(jobs: readonly JobSummary[], { order, limit }: JobFilter): JobSummary[] {
  const by = order?.by ?? 'time';
  const sign = order?.descending === true ? -1 : 1;
  const sorted = jobs.toSorted((a, b) => {
    const [x, y] = [a[by], b[by]];
    if (x === undefined || y === undefined) return x === y ? 0 : x === undefined ? 1 : -1;
    return x === y ? a.time - b.time || (a.job < b.job ? -1 : 1) : x < y ? -sign : sign;
  });
  return limit === undefined ? sorted : sorted.slice(0, limit);
}
