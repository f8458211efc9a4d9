import * as path from 'node:path';
import { Fault, reason } from '../../base/fault.ts';
import { makeFolder } from '../../base/folder.ts';
import type { RecordingSummaries } from '../tables/summary.ts';
import type { Accounted, AddedAccounting } from './accounting-store.ts';
import { buildIndex } from './build.ts';
import { accountingId } from './entry.ts';
import { fileAccounting } from './file-accounting.ts';
import { changeIndex } from './index-writer.ts';
import { shareAccounting } from './share-accounting.ts';

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
  const { changed, recorded, recordings } = await fileAccounting(archive, runs);
  // their rows are made again, with what accounting adds
  if (recordings.length > 0) await buildIndex(archive, { only: recordings.map((id) => path.join(archive, id)) });
  await shareAccounting(archive, runs);
  await changeIndex(archive, (index) => index.joinMonths());
  return { jobs: runs.length, added: changed, unchanged: runs.length - changed, recorded };
}
