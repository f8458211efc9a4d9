import type { FindingSummary } from '../tables/summary.ts';
import type { Engine } from './engine.ts';
import { isOneOf, where } from './where.ts';

/** Findings of jobs that ended in the window, or run. */
export interface FindingFilter {
  /** Ids of rules. */
  findings: readonly string[];
  from?: number;
  to?: number;
}

/** What a finding measured, and of which job. */
export type FindingValue = Pick<FindingSummary, 'time' | 'job' | 'cluster' | 'user' | 'finding' | 'value'>;

export async function askFindings({ dialect, query }: Engine, filter: FindingFilter): Promise<FindingValue[]> {
  const { findings, from, to } = filter;
  const conditions = [isOneOf(dialect, 'f.finding', findings)];
  if (from !== undefined) conditions.push(`(f.end_time is null or f.end_time >= ${Math.round(from)})`);
  if (to !== undefined) conditions.push(`coalesce(f.end_time, ${dialect.micros('f.time')}) < ${Math.round(to)}`);
  const rows = await query(
    (table) => `select ${dialect.micros('f.time')} as start_us, f.job, f.cluster, f.user, f.finding, f.value
      from ${table('findings', { from, to })} f ${where(conditions)}`,
  );
  return rows.map(({ start_us, value, ...keys }) => ({
    time: Number(start_us),
    ...(keys as Pick<FindingValue, 'job' | 'cluster' | 'user' | 'finding'>),
    ...(value === null ? {} : { value: Number(value) }),
  }));
}
