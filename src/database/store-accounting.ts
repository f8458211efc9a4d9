import {
  type Accounted,
  type AddedAccounting,
  completed,
  isSameRun,
  wholeJob,
} from '../history/index/accounting-store.ts';
import { accountingId } from '../history/index/entry.ts';
import { startedArrays } from '../history/index/started-arrays.ts';
import type { JobSummary, RecordingSummaries } from '../history/tables/summary.ts';
import type { Database } from './connect.ts';
import { storableJson } from './copy-write.ts';
import { storeRows } from './store-summaries.ts';
import { SUBMITTING } from './submitting.ts';

/** Number of runs stored in one transaction. */
const AT_ONCE = 5000;

/** The row of a recorded job, and the columns of it that accounting has filled. */
interface RecordedRow {
  stored: number;
  row: JobSummary;
}

/** Brings what accounting knows into the database: as `addAccounting` does for an archive. */
export async function storeAccounting(
  database: Database,
  all: readonly Pick<RecordingSummaries, 'jobs' | 'job_nodes'>[],
  progress?: (runs: number) => void,
): Promise<AddedAccounting> {
  const runs = all.map(
    ({ jobs, job_nodes }): Accounted => ({ id: accountingId(jobs[0]!), summaries: { jobs, job_nodes } }),
  );
  const done: AddedAccounting = { jobs: runs.length, added: 0, unchanged: 0, recorded: 0 };
  const over = startedArrays(runs).map(accountingId);
  if (over.length > 0) await database.query('delete from tacho.accounting where id = any($1::text[])', [over]);
  for (let at = 0; at < runs.length; at += AT_ONCE) {
    // the last line of a run counts
    const some = [...new Map(runs.slice(at, at + AT_ONCE).map((run) => [run.id, run])).values()];
    const { added, recorded } = await database.transaction(() => storeSome(database, some));
    done.added += added;
    done.recorded += recorded;
    progress?.(some.length);
  }
  return { ...done, unchanged: done.jobs - done.added };
}

async function storeSome(database: Database, runs: readonly Accounted[]): Promise<{ added: number; recorded: number }> {
  // a recording that is submitted meanwhile would not find the row that it takes the place of
  await database.query('select pg_advisory_xact_lock($1)', [SUBMITTING]);
  const changed = await keep(database, runs);
  const filed = await idsOf(
    database,
    'select accounted as id from tacho.summary_jobs where accounted = any($1::text[])',
    runs.map(({ id }) => id),
  );
  const recordings = await recordedRows(database, runs);
  const fresh: Accounted[] = [];
  let recorded = 0;
  for (const run of runs) {
    const [accounted] = run.summaries.jobs as [JobSummary];
    const same = (recordings.get(accounted.job) ?? []).filter(({ row }) => isSameRun(row, accounted));
    if (same.length > 0) recorded++;
    if (same.length === 0 && (changed.has(run.id) || !filed.has(run.id))) fresh.push(run);
    if (changed.has(run.id))
      for (const one of same) await replaceRow(database, one.stored, completedRow(one.row, accounted));
  }
  await takeOut(
    database,
    runs.filter(({ id }) => changed.has(id)).map(({ id }) => id),
  );
  for (const table of ['jobs', 'job_nodes'] as const)
    await storeRows(
      database,
      table,
      fresh.flatMap(({ id, summaries }) => summaries[table].map((row) => ({ ...row, accounted: id }))),
    );
  return { added: changed.size, recorded };
}

/** Puts runs in the place of what there was of them. Returns those that are new or have changed. */
function keep(database: Database, runs: readonly Accounted[]): Promise<Set<string>> {
  const rows = runs.map(({ id, summaries }) => {
    const { job, user, time, end_time } = summaries.jobs[0]!;
    return { id, job, user, start_time: Math.round(time), end_time: wholeOrNull(end_time), summaries };
  });
  return idsOf(
    database,
    `insert into tacho.accounting as a select * from jsonb_populate_recordset(null::tacho.accounting, $1::jsonb)
      on conflict (id) do update set "user" = excluded."user", start_time = excluded.start_time,
        end_time = excluded.end_time, summaries = excluded.summaries
      where a.summaries is distinct from excluded.summaries returning id`,
    storableJson(rows),
  );
}

const wholeOrNull = (value: number | undefined): number | null => (value === undefined ? null : Math.round(value));

async function idsOf(database: Database, sql: string, parameter: unknown): Promise<Set<string>> {
  const { rows } = await database.query<{ id: string }>(sql, [parameter]);
  return new Set(rows.map(({ id }) => id));
}

/** Rows of recorded jobs, as their recordings have them, by the job that they are of or a part of. */
async function recordedRows(database: Database, runs: readonly Accounted[]): Promise<Map<string, RecordedRow[]>> {
  const { rows } = await database.query<{ stored: string; start: string; row: Record<string, unknown> }>(
    `select stored, (extract(epoch from "time") * 1000000)::bigint as start, to_jsonb(j) as row from tacho.summary_jobs j
      where stored is not null and split_part(job, '.', 1) = any($1::text[])`,
    [runs.map(({ summaries }) => summaries.jobs[0]!.job)],
  );
  const summaryRows = rows.map(({ stored, start, row: { completed: filled, accounted: _, stored: __, ...row } }) => {
    for (const name of (filled as string[] | null) ?? []) delete row[name];
    const filledCells = Object.entries(row).filter(([, value]) => value !== null);
    return { stored: Number(stored), row: { ...Object.fromEntries(filledCells), time: Number(start) } as JobSummary };
  });
  return Map.groupBy(summaryRows, ({ row }) => wholeJob(row.job));
}

/** With the names of the columns that accounting has filled: when it changes, these follow. */
function completedRow(recorded: JobSummary, accounted: JobSummary): JobSummary & { completed?: string[] } {
  const row = completed(recorded, accounted);
  const filled = (Object.keys(row) as (keyof JobSummary)[]).filter((name) => recorded[name] === undefined);
  return filled.length === 0 ? row : { ...row, completed: filled };
}

async function replaceRow(database: Database, stored: number, row: JobSummary): Promise<void> {
  await database.query('delete from tacho.summary_jobs where stored = $1', [stored]);
  await storeRows(database, 'jobs', [{ ...row, stored }]);
}

async function takeOut(database: Database, ids: readonly string[]): Promise<void> {
  for (const table of ['jobs', 'job_nodes'])
    await database.query(`delete from tacho.summary_${table} where accounted = any($1::text[])`, [ids]);
}

/** The rows of a recording that is being stored, with what accounting knows of its job, whose own rows go. */
export async function withAccounted(database: Database, summaries: RecordingSummaries): Promise<RecordingSummaries> {
  const whole = summaries.jobs.map(({ job }) => wholeJob(job));
  const { rows } = await database.query<{ id: string; row: JobSummary }>(
    `select id, summaries->'jobs'->0 as row from tacho.accounting where job = any($1::text[])`,
    [whole],
  );
  const replaced: string[] = [];
  const jobs = summaries.jobs.map((row) => {
    const run = rows.find((one) => isSameRun(row, one.row));
    if (run === undefined) return row;
    replaced.push(run.id);
    return completedRow(row, run.row);
  });
  if (replaced.length > 0) await takeOut(database, replaced);
  return { ...summaries, jobs };
}
