import { jobsTable } from '../tables/jobs.ts';
import type { JobSummary } from '../tables/summary.ts';
import type { Engine } from './engine.ts';
import type { JobFilter } from './filter.ts';
import { conditionsOf, where, windowOf } from './where.ts';

const COLUMNS = [...jobsTable.keys, ...jobsTable.columns].map(({ name }) => `j.${name}`);

/** The jobs that a filter means, from an engine. */
export async function askJobs({ dialect, query }: Engine, filter: JobFilter): Promise<JobSummary[]> {
  const { order, limit, from, to } = filter;
  const by = order?.by ?? 'time';
  const direction = order?.descending === true ? 'desc' : 'asc';
  const conditions = [...conditionsOf(dialect, filter), ...windowOf(dialect, filter)];
  const rows = await query(
    (table) => `select ${[`${dialect.micros('j.time')} as start_us`, ...COLUMNS].join(', ')}
      from ${table('jobs', { from, to })} j ${where(conditions)}
      order by j.${by} ${direction} nulls last, j.time, j.job
      ${limit === undefined ? '' : `limit ${Math.max(0, Math.floor(limit))}`}`,
  );
  return rows.map((row) => summaryOf(row));
}

const KEYS = new Set<string>(jobsTable.keys.map(({ name }) => name));
const NUMBERS = new Set<string>(jobsTable.columns.flatMap(({ name, type }) => (type === 'text' ? [] : name)));

/** A row of an engine as the one that was filed: what is missing is not there. */
function summaryOf({ start_us, ...row }: Record<string, unknown>): JobSummary {
  const job: Record<string, unknown> = { time: Number(start_us) };
  for (const [name, value] of Object.entries(row))
    if (value !== null) job[name] = NUMBERS.has(name) ? Number(value) : value;
    else if (KEYS.has(name)) job[name] = '';
  return job as JobSummary;
}
