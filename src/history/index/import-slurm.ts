import { askSacct, type ReadOptions, readFiles, SACCT_ENVIRONMENT } from '../../import/slurm/read.ts';
import { runner } from '../../jobs/schedulers/command.ts';
import { summariesOfAccounted } from '../make/accounted.ts';
import type { RecordingSummaries } from '../tables/summary.ts';
import type { AddedAccounting } from './accounting-store.ts';
import { addAccounting } from './add-accounting.ts';

/** sacct of a busy database takes minutes for a week of a large cluster. */
const PATIENCE_SECONDS = 600;

export interface ImportSlurmOptions extends ReadOptions {
  archive: string;
}

export interface ImportedAccounting extends AddedAccounting {
  /** Versions of Slurm, where they are said. */
  versions: string[];
  /** What is missing, in words. */
  notes: string[];
}

/** The rows of jobs that Slurm's accounting knows: from files, or from `sacct` itself. */
export async function accountedRows(
  files: readonly string[],
  options: ReadOptions,
): Promise<Pick<ImportedAccounting, 'versions' | 'notes'> & { rows: RecordingSummaries[] }> {
  const { jobs, versions, notes } =
    files.length > 0 ? readFiles(files, options) : await askSacct(runner(SACCT_ENVIRONMENT, PATIENCE_SECONDS), options);
  return { rows: jobs.map((job) => summariesOfAccounted(job)), versions, notes };
}

/** Brings jobs of Slurm's accounting into the history of an archive. */
export async function importSlurm(
  files: readonly string[],
  { archive, ...options }: ImportSlurmOptions,
): Promise<ImportedAccounting> {
  const { rows, versions, notes } = await accountedRows(files, options);
  return { ...(await addAccounting(archive, rows)), versions, notes };
}
