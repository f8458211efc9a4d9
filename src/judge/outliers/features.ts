import { type ColumnKind, metricKind } from '../../query/processes/columns.ts';
import { type Operation, operationsOf } from '../../query/processes/operations.ts';
import { durationOf, type ProcessColumns } from '../../query/processes/set.ts';
import type { AllThreads } from '../../query/processes/threads.ts';
import { processEndTable } from '../../sources/tables.ts';
import type { FeatureTable } from './feature-table.ts';
import type { MeasuredJob } from './measured-job.ts';

/** What is known of one job or operation: features by name. */
export type Features = Map<string, number>;

export interface JobFeatures {
  job: Features;
  /** By the operation's name, "op:build". */
  operations: Map<string, Features>;
}

/** Levels: the highest of any process says more than their sum. */
const HIGHEST = new Set<string>([processEndTable.col.rssmax.name, 'vsize']);

/** Whether values of this feature do not add up. */
export const isLevel = (name: string): boolean => HIGHEST.has(name);

type EndColumn = keyof typeof processEndTable.col;

/** When, where and who, what others did, and parts of what is counted anyway: nothing that jobs differ in by what they do. */
const NO_FEATURES = new Set<string>([
  ...([
    'starttime',
    'processor',
    'num_threads',
    'numtids',
    'threads_counted',
    'cutime',
    'cstime',
  ] satisfies EndColumn[]),
  'cminflt',
  'cmajflt',
]);

const MEASURED_KINDS: Readonly<Record<string, ColumnKind>> = {
  duration: 'microseconds',
  cpu_time: 'microseconds',
  memory_peak: 'bytes',
  gpu_memory_peak: 'bytes',
  gpu_utilization: 'share',
  disk_read: 'bytes',
  disk_written: 'bytes',
  vsize: 'bytes',
};

/** What a feature is measured in. */
export const featureKind = (name: string): ColumnKind => MEASURED_KINDS[name] ?? metricKind(name);

/** The features of a job, and of each of its operations (by the tag given, or the one that `tacho operations` takes). */
export async function jobFeatures(one: MeasuredJob, tag?: string): Promise<JobFeatures> {
  const processes = await one.processes();
  const features: Features = new Map();
  const { start, end } = one.job;
  const all = Uint32Array.from({ length: processes.length }, (_, i) => i);
  const told = totals(processes, all);
  const measured = await one.measured();
  // what processes say of themselves is exact; what sampling saw of them is less than what the job used
  const exact = processes.source.includes('record');
  for (const each of exact ? [measured, told] : [told, measured]) {
    for (const [name, value] of each) features.set(name, value);
  }
  if (Number.isFinite(end - start)) features.set('duration', end - start);
  const operations = new Map<string, Features>();
  for (const operation of operationsOf(processes, tag === undefined ? {} : { tags: [tag] })) {
    if (operation.name !== '') operations.set(operation.name, operationFeatures(processes, operation));
  }
  return { job: features, operations };
}

function operationFeatures(processes: ProcessColumns, operation: Operation): Features {
  const features: Features = new Map([['duration', operation.duration]]);
  for (const [name, value] of totals(processes, operation.members)) features.set(name, value);
  return features;
}

/** Numbers, CPU time and every metric of some processes together. */
function totals(processes: ProcessColumns, members: ArrayLike<number>): Features {
  const features: Features = new Map();
  if (members.length === 0) return features;
  const set = (name: string, values: Float64Array, merge: typeof sum): void => {
    const total = merge(values, members);
    if (!Number.isNaN(total)) features.set(name, total);
  };
  set('cpu_time', processes.cpu_time, sum);
  features.set('processes', members.length);
  set('threads', processes.threads, sum);
  for (const [name, values] of processes.metrics) {
    if (!NO_FEATURES.has(name)) set(name, values, HIGHEST.has(name) ? highest : sum);
  }
  return features;
}

/** NaN when nothing is known. */
function sum(values: Float64Array, members: ArrayLike<number>): number {
  let total = 0;
  let known = false;
  for (let k = 0; k < members.length; k++) {
    const value = values[members[k]!]!;
    if (Number.isNaN(value)) continue;
    total += value;
    known = true;
  }
  return known ? total : Number.NaN;
}

function highest(values: Float64Array, members: ArrayLike<number>): number {
  let found = Number.NaN;
  for (let k = 0; k < members.length; k++) {
    const value = values[members[k]!]!;
    if (value > found || Number.isNaN(found)) found = value;
  }
  return found;
}

/** Jobs or operations as a table. */
export function featureTable(rows: readonly Features[]): FeatureTable {
  const features = new Map<string, Float64Array>();
  rows.forEach((row, r) => {
    for (const [name, value] of row) {
      let values = features.get(name);
      if (values === undefined) {
        values = new Float64Array(rows.length).fill(Number.NaN);
        features.set(name, values);
      }
      values[r] = value;
    }
  });
  return { rows: rows.length, features };
}

/** Every process of a job as a row. */
export function processFeatures(processes: ProcessColumns): FeatureTable {
  const features = new Map<string, Float64Array>();
  features.set(
    'duration',
    Float64Array.from({ length: processes.length }, (_, i) => durationOf(processes, i)),
  );
  features.set('cpu_time', processes.cpu_time);
  features.set('threads', processes.threads);
  for (const [name, values] of processes.metrics) if (!NO_FEATURES.has(name)) features.set(name, values);
  return { rows: processes.length, features };
}

/** Every thread as a row. */
export function threadFeatures(threads: AllThreads): FeatureTable {
  const features = new Map<string, Float64Array>();
  features.set(
    'duration',
    threads.end.map((end, i) => end - threads.start[i]!),
  );
  features.set('cpu_time', threads.cpu_time);
  for (const [name, values] of threads.metrics) if (!NO_FEATURES.has(name)) features.set(name, values);
  return { rows: threads.length, features };
}
