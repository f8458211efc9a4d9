import { jobs } from './0001-jobs.ts';
import { argv0 } from './0002-argv0.ts';
import { step } from './0003-step.ts';
import { ranks } from './0004-ranks.ts';
import { summaries } from './0005-summaries.ts';
import { accounting } from './0006-accounting.ts';
import { features } from './0007-features.ts';
import { loneThreads } from './0008-lone-threads.ts';

/** One step forward. A step that has been released is never changed again: a new one follows. */
export interface Migration {
  readonly version: number;
  readonly what: string;
  readonly sql: string;
}

export const migrations: readonly Migration[] = [
  jobs,
  argv0,
  step,
  ranks,
  summaries,
  accounting,
  features,
  loneThreads,
];

/** The schema that this Tacho reads and writes. */
export const SCHEMA = migrations.at(-1)!.version;
