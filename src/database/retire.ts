import type { Database } from './connect.ts';
import { SUBMITTING } from './submitting.ts';

/** Number of rows deleted at once: others can work in between, and what was interrupted is not undone. */
const PROCESSES = 200_000;
const JOBS = 200;

export interface Retired {
  jobs: number;
  processes: number;
  threads: number;
  /** Jobs that only accounting knew, where there were some. */
  accounted?: number;
}

export interface RetireOptions {
  /** Jobs that ended before: epoch microseconds. */
  before: number;
  /** Only report what would be removed. */
  dryRun?: boolean;
  /** After every chunk: how many jobs went. */
  progress?: (jobs: number) => void;
}

/** Removes jobs that ended long ago, oldest first. A job whose end is not known counts from its start. */
export async function retire(database: Database, options: RetireOptions): Promise<Retired> {
  const { rows } = await database.query<StoredSize>(
    `select job, processes, threads from tacho.jobs
      where coalesce(end_time, start_time) < timestamptz 'epoch' + $1::bigint * interval '1 microsecond'
      order by coalesce(end_time, start_time)`,
    [Math.round(options.before)],
  );
  const retired = await removeJobs(database, rows, options);
  const accounted = await retireAccounted(database, options);
  if (accounted > 0) retired.accounted = accounted;
  return retired;
}

/** A job in the database, and how much it holds. */
export interface StoredSize {
  job: number | string;
  processes: number;
  threads: number;
}

/** Removes jobs with their processes, threads and summaries, some at a time. */
export async function removeJobs(
  database: Database,
  jobs: readonly StoredSize[],
  options: Pick<RetireOptions, 'dryRun' | 'progress'> = {},
): Promise<Retired> {
  const removed: Retired = { jobs: 0, processes: 0, threads: 0 };
  for (let from = 0; from < jobs.length; ) {
    let to = from;
    let processes = 0;
    while (to < jobs.length && to - from < JOBS && (to === from || processes + jobs[to]!.processes <= PROCESSES)) {
      processes += jobs[to++]!.processes;
    }
    const chunk = jobs.slice(from, to);
    if (options.dryRun !== true) {
      await database.query('delete from tacho.jobs where job = any($1::bigint[])', [chunk.map(({ job }) => job)]);
    }
    for (const one of chunk) {
      removed.jobs++;
      removed.processes += one.processes;
      removed.threads += one.threads;
    }
    options.progress?.(chunk.length);
    from = to;
  }
  if (removed.jobs > 0 && options.dryRun !== true) await forget(database);
  return removed;
}

/** What accounting knows goes at the same age; counted are those that were never recorded. */
async function retireAccounted(database: Database, { before, dryRun }: RetireOptions): Promise<number> {
  const old = 'coalesce(a.end_time, a.start_time) < $1::bigint';
  const { rows } = await database.query<{ number: string }>(
    `select count(*) as number from tacho.accounting a join tacho.summary_jobs j on j.accounted = a.id where ${old}`,
    [Math.round(before)],
  );
  if (dryRun !== true) await database.query(`delete from tacho.accounting a where ${old}`, [Math.round(before)]);
  return Number(rows[0]!.number);
}

/** Removes users and hosts without a job, while nobody submits one of theirs. */
async function forget(database: Database): Promise<void> {
  // who sees only some jobs cannot know who has none
  const { rows } = await database.query<{ active: boolean }>(
    "select row_security_active('tacho.jobs'::regclass) or row_security_active('tacho.job_hosts'::regclass) as active",
  );
  if (rows[0]!.active) return;
  await database.transaction(async () => {
    await database.query('select pg_advisory_xact_lock($1)', [SUBMITTING]);
    await database.query(
      `delete from tacho.users u where not exists (select from tacho.jobs j where j.user_name = u.name)
        and not exists (select from tacho.processes p where p.user_name = u.name)`,
    );
    await database.query(
      'delete from tacho.hosts h where not exists (select from tacho.job_hosts j where j.host = h.name)',
    );
  });
}
