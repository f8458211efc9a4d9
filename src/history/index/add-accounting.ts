import * as path from 'node:path';
import { Fault, reason } from '../../base/fault.ts';
import { makeFolder } from '../../base/folder.ts';
import type { JobSummary, RecordingSummaries } from '../tables/summary.ts';
import { fileRuns, recordedIn } from './accounting-rows.ts';
import { type Accounted, AccountingStore } from './accounting-store.ts';
import { buildIndex } from './build.ts';
import { accountingId } from './entry.ts';
import { changeIndex } from './index-writer.ts';

/** What became of an import. */
export interface AddedAccounting {
  /** Runs that were named. */
  jobs: number;
  /** Rows of the index that are new or have changed. */
  added: number;
  unchanged: number;
  /** Runs that are recorded: their recording has the row. */
  recorded: number;
}

/** Brings what accounting knows into the index of an archive, which is made if need be. */
export async function addAccounting(
  archive: string,
  all: readonly Pick<RecordingSummaries, 'jobs' | 'job_nodes'>[],
): Promise<AddedAccounting> {
  try {
    makeFolder(archive);
  } catch (error) {
    throw new Fault(`cannot write ${archive}: ${reason(error)}`, { hint: 'choose another folder with --archive' });
  }
  // recordings that are new have their rows first
  await buildIndex(archive);
  const runs = all.map(
    ({ jobs, job_nodes }): Accounted => ({ id: accountingId(jobs[0]!), summaries: { jobs, job_nodes } }),
  );
  const recordings = new Set<string>();
  let recorded = 0;
  const changed = await changeIndex(archive, async (index) => {
    const store = new AccountingStore(archive);
    const over = startedArrays(runs);
    const news = store.add(runs, over);
    const found = recordedIn(index, runs);
    const unrecorded: Accounted[] = [];
    const isNew = new Set(news);
    for (const run of runs) {
      const same = found(run.summaries.jobs[0]!);
      recorded += same.length > 0 ? 1 : 0;
      if (!isNew.has(run)) continue;
      if (same.length === 0) unrecorded.push(run);
      for (const { recording } of same) recordings.add(recording!);
    }
    const gone = over.map(accountingId).filter((id) => index.catalogue.get(id) !== undefined);
    await index.change([], gone);
    await fileRuns(index, unrecorded);
    return news.length;
  });
  // their rows are made again, with what accounting adds
  if (recordings.size > 0) await buildIndex(archive, { only: [...recordings].map((id) => path.join(archive, id)) });
  return { jobs: runs.length, added: changed, unchanged: runs.length - changed, recorded };
}

/** Tasks of an array that waited together, in a row that is old by now. */
function startedArrays(runs: readonly Accounted[]): JobSummary[] {
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
