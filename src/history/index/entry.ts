import { createHash } from 'node:crypto';
import type { JobSummary, RecordingSummaries, SummaryTableName } from '../tables/summary.ts';
import { dayOf } from './index-files.ts';
import type { SummaryRow } from './row-file.ts';

/** What the index has of one recording, or of one job that only accounting knows. */
export interface Entry {
  /** Path of the recording below the archive, or `accountingId`. */
  id: string;
  /** What the recording looked like: with the same stamp it need not be read again. */
  stamp: string;
  /** Nothing: it could not be summarised. */
  summaries?: RecordingSummaries;
  /** Why not. */
  trouble?: string;
  /** What of it could not be read, while the rest has rows. */
  damage?: string;
}

/** What the catalogue remembers of an entry. */
export interface Listed {
  id: string;
  stamp: string;
  /** In which day it has rows, by table. */
  days: Partial<Record<SummaryTableName, string[]>>;
  trouble?: string;
  damage?: string;
  /** It runs, or how it ended is not known: it is looked at again. */
  open?: true;
}

/** Of a job that was never recorded. */
export const accountingId = (row: { cluster?: unknown; job?: unknown; restart?: unknown; time: number }): string =>
  `accounting:${row.cluster ?? ''}:${row.job ?? ''}:${row.restart ?? 0}`;

/** Which entry a row of the index belongs to. */
export const entryOf = (row: SummaryRow): string => (row.recording as string | undefined) ?? accountingId(row);

/** The day that a row is filed under: of an hour its own, of a job the day of its end, or until when it is known to have run. */
export function dayOfRow(table: SummaryTableName, row: SummaryRow, { jobs }: Pick<RecordingSummaries, 'jobs'>): string {
  if (table === 'node_hours') return dayOf(row.time);
  const job = table === 'jobs' ? (row as unknown as JobSummary) : jobs.find((one) => one.job === row.job);
  return dayOf(job?.end_time ?? row.time + (job?.wall_seconds ?? 0) * 1e6);
}

export const shardOf = (id: string): string => createHash('sha1').update(id).digest('hex').slice(0, 2);
