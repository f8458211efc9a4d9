import * as path from 'node:path';
import { tagKey, tagKeys } from '../../query/processes/operations.ts';
import type { CountedProcesses } from '../../query/processes/set.ts';
import { filesMark } from '../../recording/folder/files-mark.ts';
import type { Recording } from '../../recording/folder/open.ts';
import { readJsonText } from '../../recording/folder/record-file.ts';
import { replaceLast } from '../../recording/folder/replace.ts';
import { type Features, featuresOfOperations, processFeaturesOfJob } from './features.ts';
import type { KeptFeatures } from './measured-job.ts';

/** Beside job.json: sums over the processes of the job and of its operations. */
export const FEATURES_FILE = 'features.json';

/** Raised whenever features are computed in another way: what was kept before is then not used. */
const FEATURES_FORMAT = 1;

const MOST_BYTES = 16 << 20;

type Numbers = Record<string, number>;

interface FeaturesFile {
  format: number;
  /** Of the files that it was computed from. */
  files: string;
  job: Numbers;
  tag?: string;
  operations: Record<string, Numbers>;
}

/** Keeps the features of processes, and of what was measured beside them; `files`: the mark of the files that they are in. */
export function writeFeatures(
  recording: Recording,
  processes: CountedProcesses,
  measured: ReadonlyMap<string, number>,
  files = filesMark(recording),
): void {
  const tag = tagKey(tagKeys(processes));
  const kept: FeaturesFile = {
    format: FEATURES_FORMAT,
    files,
    job: Object.fromEntries(processFeaturesOfJob(processes, measured)),
    ...(tag === undefined ? {} : { tag }),
    operations: Object.fromEntries(
      [...featuresOfOperations(processes)].map(([name, features]) => [name, Object.fromEntries(features)]),
    ),
  };
  replaceLast(path.join(recording.path, FEATURES_FILE), kept);
}

/** What was kept, while the recording has the same files as then. */
export function readKept(recording: Recording): KeptFeatures | undefined {
  let kept: Partial<FeaturesFile>;
  try {
    kept = JSON.parse(readJsonText(path.join(recording.path, FEATURES_FILE), MOST_BYTES)) as Partial<FeaturesFile>;
  } catch {
    return undefined;
  }
  if (kept?.format !== FEATURES_FORMAT || kept.files !== filesMark(recording)) return undefined;
  const operations = Object.entries(kept.operations ?? {});
  return {
    job: numbersOf(kept.job),
    ...(typeof kept.tag === 'string' ? { tag: kept.tag } : {}),
    operations: new Map(operations.map(([name, features]) => [name, numbersOf(features)])),
  };
}

/** Features from JSON; what is no number is missing. */
export function numbersOf(value: unknown): Features {
  const all = typeof value === 'object' && value !== null ? Object.entries(value) : [];
  return new Map(all.filter((entry): entry is [string, number] => Number.isFinite(entry[1])));
}
