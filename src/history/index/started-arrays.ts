import type { JobSummary } from '../tables/summary.ts';
import type { Accounted } from './accounting-store.ts';
import { accountingId } from './entry.ts';

/** Tasks of an array that waited together, in a row that is old by now. */
export function startedArrays(runs: readonly Accounted[]): JobSummary[] {
  const waiting = new Set(runs.map(({ id }) => id));
  const rows = new Map<string, JobSummary>();
  for (const { summaries } of runs) {
    const { array, cluster, user, time } = summaries.jobs[0]!;
    if (array === undefined) continue;
    const row: JobSummary = { job: `${array}_[]`, cluster, user, time };
    if (!waiting.has(accountingId(row))) rows.set(accountingId(row), row);
  }
  return [...rows.values()];
}
