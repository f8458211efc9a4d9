import * as path from 'node:path';
import { type JobSummary, SUMMARY_TABLES } from '../tables/summary.ts';
import { type Accounted, type AccountingStore, completed, isSameRun, wholeJob } from './accounting-store.ts';
import type { Entry } from './entry.ts';
import { dayFolder, dayOf, daysOf, partsIn } from './index-files.ts';
import type { IndexWriter } from './index-writer.ts';
import { readRows } from './row-file.ts';

const DAY_US = 86_400e6;
/** Number of rows filed at once. */
const AT_ONCE = 20_000;

/** With the stamp of all entries that follow from no recording. */
const STAMP = 'accounting';

const entryOfRun = ({ id, summaries }: Accounted): Entry => ({
  id,
  stamp: STAMP,
  summaries: { ...summaries, node_hours: [], findings: [] },
});

export async function fileRuns(index: IndexWriter, runs: readonly Accounted[]): Promise<void> {
  const sorted = runs.toSorted((a, b) => endOf(a) - endOf(b));
  for (let at = 0; at < sorted.length; at += AT_ONCE)
    await index.change(sorted.slice(at, at + AT_ONCE).map(entryOfRun));
}

const endOf = ({ summaries }: Accounted): number => summaries.jobs[0]!.end_time ?? summaries.jobs[0]!.time;

/** The recordings that the index has of a run. Only the days that the runs may be in are read. */
export function recordedIn(index: IndexWriter, runs: readonly Accounted[]): (row: JobSummary) => JobSummary[] {
  const days = new Set<string>();
  for (const run of runs)
    for (const shift of [-1, 0, 1]) {
      days.add(dayOf(endOf(run) + shift * DAY_US));
      days.add(dayOf(run.summaries.jobs[0]!.time + shift * DAY_US));
    }
  const rows = new Map<string, JobSummary[]>();
  for (const day of daysOf(index.folder, 'jobs')) {
    if (!days.has(day)) continue;
    const folder = path.join(index.folder, dayFolder('jobs', day));
    for (const { name } of partsIn(folder))
      for (const row of readRows(path.join(folder, name), SUMMARY_TABLES.jobs) as unknown as JobSummary[])
        if (row.recording !== undefined) {
          const key = wholeJob(row.job);
          rows.set(key, [...(rows.get(key) ?? []), row]);
        }
  }
  return (row) => (rows.get(row.job) ?? []).filter((one) => isSameRun(one, row));
}

/** Entries of recordings with what accounting knows of their jobs, and the rows of accounting that they take the place of. */
export function withAccounting(
  store: AccountingStore,
  index: IndexWriter,
  entries: readonly Entry[],
): { entries: Entry[]; replaced: string[] } {
  const replaced: string[] = [];
  const made = entries.map((entry) => {
    if (entry.summaries === undefined) return entry;
    const jobs = entry.summaries.jobs.map((row) => {
      const run = store.find(wholeJob(row.job)).find(({ summaries }) => isSameRun(row, summaries.jobs[0]!));
      if (run === undefined) return row;
      if (index.catalogue.get(run.id) !== undefined) replaced.push(run.id);
      return completed(row, run.summaries.jobs[0]!);
    });
    return { ...entry, summaries: { ...entry.summaries, jobs } };
  });
  return { entries: made, replaced };
}

/** Files the runs that no recording is of, as far as the index lacks them. `days`: only those that ended then. */
export async function fileUnrecorded(
  store: AccountingStore,
  index: IndexWriter,
  days?: ReadonlySet<string>,
): Promise<void> {
  const missing = [...store.all()].filter(
    (run) => index.catalogue.get(run.id) === undefined && (days === undefined || days.has(dayOf(endOf(run)))),
  );
  const recordedRowsOf = recordedIn(index, missing);
  await fileRuns(
    index,
    missing.filter(({ summaries }) => recordedRowsOf(summaries.jobs[0]!).length === 0),
  );
}
