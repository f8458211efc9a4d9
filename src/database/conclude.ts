import * as path from 'node:path';
import { summariesFrom } from '../history/make/summaries.ts';
import type { RecordingSummaries } from '../history/tables/summary.ts';
import { gather } from '../judge/facts/gather.ts';
import { readKeptReport } from '../judge/kept-report.ts';
import { processFeaturesOfJob } from '../judge/outliers/features.ts';
import { measuredFeatures } from '../judge/outliers/measured-features.ts';
import { report } from '../judge/report.ts';
import type { Report } from '../judge/report-schema.ts';
import type { RuleSettings } from '../judge/rules/shared/settings.ts';
import { operationsOf, tagKeys } from '../query/processes/operations.ts';
import type { ProcessSet } from '../query/processes/set.ts';
import { nodeFolder } from '../recording/folder/node-folder.ts';
import type { Recording } from '../recording/folder/open.ts';
import { processTable } from '../sources/process/table.ts';
import type { TaggedOperation } from './job-rows.ts';

/** Told what cannot be read: it was there, and what follows without it would be stored as the truth. */
export type NeedWhole = (statement: string, lines?: boolean) => void;

/** The operations of a job, by each of its tags. */
export function taggedOperations(set: ProcessSet): TaggedOperation[] {
  return [...tagKeys(set).keys()].flatMap((key) =>
    operationsOf(set, { tags: [key] }).flatMap((operation) => {
      const value = operation.tags.get(key);
      return value === undefined ? [] : [{ key, value, operation }];
    }),
  );
}

export interface Conclusions {
  report: Report;
  measured: ReadonlyMap<string, number>;
  summaries: RecordingSummaries;
}

export interface ConcludeOptions {
  recording: Recording;
  set: ProcessSet;
  whole: NeedWhole;
  origin: string;
  /** Undefined: as Tacho has them, by which reports are kept, too. */
  rules: RuleSettings | undefined;
  /** Lets the database have more rows. */
  pause: () => Promise<void>;
}

/** What follows from a recording as a whole. */
export async function conclude(options: ConcludeOptions): Promise<Conclusions> {
  const { recording, set, whole, origin, rules, pause } = options;
  const material = gather(recording, canShare(recording, set) ? { processes: set } : {});
  for (const { file, node, why, lines, whole: lost } of material.unread ?? []) {
    // in the words of whoever read it before
    if (lost || lines > 0) whole(`${path.join(recording.path, nodeFolder(node), file)}: ${why}`, !lost);
  }
  await pause();
  const made = (rules === undefined ? readKeptReport(recording) : undefined) ?? report(material, rules);
  await pause();
  const measured = measuredFeatures(recording, made);
  return {
    report: made,
    measured,
    summaries: summariesFrom(made, material, origin, processFeaturesOfJob(set, measured)),
  };
}

/** The report reads processes once more where it takes samples from statistics, or where there is trouble to tell of. */
const canShare = ({ nodes }: Recording, set: ProcessSet): boolean =>
  set.length > 0 && set.troubles.length === 0 && nodes.every(({ tables }) => !tables.has(processTable.name));
