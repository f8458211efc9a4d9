import * as fs from 'node:fs';
import { jobsTable } from '../tables/jobs.ts';
import type { JobSummary } from '../tables/summary.ts';
import type { Engine } from './engine.ts';
import type { JobFilter } from './filter.ts';
import { conditionsOf, where, windowOf } from './where.ts';

const COLUMNS = [...jobsTable.keys, ...jobsTable.columns].map(({ name }) => name);

/** So few rows are looked for first, and then read: of a million jobs the other columns are not touched. */
const FEW = 1000;

/** The jobs that a filter means, from an engine. */
export async function askJobs(engine: Engine, filter: JobFilter): Promise<JobSummary[]> {
  const { dialect, query } = engine;
  const { order, limit, from, to } = filter;
  const by = order?.by ?? 'time';
  const direction = order?.descending === true ? 'desc' : 'asc';
  const conditions = where([...conditionsOf(dialect, filter), ...windowOf(dialect, filter)]);
  const ordered = `order by j.${by} ${direction} nulls last, j.time, j.job`;
  const most = limit === undefined ? '' : `limit ${Math.max(0, Math.floor(limit))}`;
  const days = { from, to };
  const needed = filter.columns === undefined ? undefined : new Set<string>([...KEYS, ...filter.columns]);
  const chosenColumns = COLUMNS.filter((name) => needed?.has(name) ?? true).map((name) => `j.${name}`);
  const columns = [`${dialect.micros('j.time')} as start_us`, ...chosenColumns].join(', ');
  const atOnce = async (): Promise<JobSummary[]> => {
    const rows = await query(
      (table) => `select ${columns} from ${table('jobs', days)} j ${conditions} ${ordered} ${most}`,
    );
    return rows.map(summaryOf);
  };
  if (dialect.name !== 'duckdb' || needed !== undefined || limit === undefined || limit > FEW) return atOnce();
  const jobRows = await query(
    (table) =>
      `select j.filename as f, j.file_row_number as r from ${table('jobs', days, 'all')} j ${conditions} ${ordered} ${most}`,
  );
  if (jobRows.length === 0) return [];
  const byFile = Map.groupBy(jobRows, ({ f }) => String(f));
  const chosen = [...byFile].map(
    ([file, own]) =>
      `(j.filename = ${dialect.text(file)} and j.file_row_number in (${own.map(({ r }) => r).join(', ')}))`,
  );
  // files that were joined to others since are not there any more
  if ([...byFile.keys()].some((file) => !fs.existsSync(file))) return atOnce();
  const rows = await query(
    (table) =>
      `select ${columns} from ${table('jobs', {}, [...byFile.keys()])} j where ${chosen.join(' or ')} ${ordered}`,
  ).catch(() => undefined);
  return rows === undefined || rows.length < jobRows.length ? atOnce() : rows.map(summaryOf);
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
