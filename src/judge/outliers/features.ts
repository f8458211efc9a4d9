import { type ColumnKind, metricKind } from '../../query/processes/columns.ts';
import { type Operation, operationsOf } from '../../query/processes/operations.ts';
import { type CountedProcesses, durationOf, type ProcessColumns } from '../../query/processes/set.ts';
import type { AllThreads } from '../../query/processes/threads.ts';
import { metricTotals, sumOf } from '../../query/processes/totals.ts';
import type { ProcessMetric } from '../../sources/records/tables.ts';
import type { processEndTable } from '../../sources/tables.ts';
import type { FeatureTable } from './feature-table.ts';
import type { MeasuredJob } from './measured-job.ts';

/** What is known of one job or operation: features by name. */
export type Features = Map<string, number>;

export interface JobFeatures {
  job: Features;
  /** By the operation's name, "op:build". */
  operations: Map<string, Features>;
}

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

type Quantity = ProcessMetric | 'cpu_time' | 'duration';

/** One quantity under several names: the first is what people know it by. */
const SAME_QUANTITY: Readonly<Record<string, Quantity>> = {
  ...({
    time_oncpu: 'cpu_time',
    PERF_COUNT_SW_CPU_CLOCK: 'cpu_time',
    rdtsc_duration: 'duration',
    inblock: 'read_bytes',
    outblock: 'write_bytes',
  } satisfies { [metric in ProcessMetric]?: Quantity }),
  PERF_COUNT_SW_TASK_CLOCK: 'cpu_time',
  PERF_COUNT_SW_PAGE_FAULTS_MIN: 'minflt',
  PERF_COUNT_SW_PAGE_FAULTS_MAJ: 'majflt',
  disk_read: 'read_bytes',
  disk_written: 'write_bytes',
};

/** Features that are no other name of one that is there: each quantity votes once. */
export function distinctFeatures(names: Iterable<string>): string[] {
  const all = new Set(names);
  return [...all].filter((name) => !all.has(SAME_QUANTITY[name] ?? ''));
}

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

export interface FeaturesOptions {
  /** Tags that operations go by: KEY, or KEY:VALUE. Without any, the one that `tacho operations` takes. */
  tags?: readonly string[];
  /** The job's features alone, without its operations. */
  jobOnly?: boolean;
  /** Only these features of the job are needed. */
  only?: readonly string[];
}

/** The features of a job, and of each of its operations. What is kept of them is taken; else processes are read. */
export async function jobFeatures(one: MeasuredJob, options: FeaturesOptions = {}): Promise<JobFeatures> {
  const { tags, jobOnly = false, only } = options;
  const { start, end } = one.job;
  const duration: Features = new Map(Number.isFinite(end - start) ? [['duration', end - start]] : []);
  if (jobOnly && duration.size > 0 && only?.every((name) => name === 'duration') === true)
    return { job: duration, operations: new Map() };
  const kept = await one.kept?.();
  // the job may have ended since
  if (kept !== undefined && jobOnly) return { job: new Map([...kept.job, ...duration]), operations: new Map() };
  if (kept?.operations !== undefined && (tags === undefined || tags.join() === kept.tag))
    return { job: new Map([...kept.job, ...duration]), operations: new Map(kept.operations) };
  const processes = await one.processes();
  const features = new Map([...processFeaturesOfJob(processes, await one.measured()), ...duration]);
  return { job: features, operations: jobOnly ? new Map() : featuresOfOperations(processes, tags) };
}

/** What the processes of a job did together, and what was measured of the job beside them. */
export function processFeaturesOfJob(processes: CountedProcesses, measured: ReadonlyMap<string, number>): Features {
  const all = new Uint32Array(processes.length);
  for (let i = 0; i < all.length; i++) all[i] = i;
  const counted = totals(processes, all);
  // what processes record of themselves is exact; sampling sees less of them than the job used
  const exact = processes.source.includes('record');
  return new Map(exact ? [...measured, ...counted] : [...counted, ...measured]);
}

/** The same of each operation, by its name. */
export function featuresOfOperations(processes: CountedProcesses, tags?: readonly string[]): Map<string, Features> {
  const operations = new Map<string, Features>();
  for (const operation of operationsOf(processes, tags === undefined ? {} : { tags })) {
    if (operation.name !== '') operations.set(operation.name, operationFeatures(processes, operation));
  }
  return operations;
}

function operationFeatures(processes: CountedProcesses, operation: Operation): Features {
  const features: Features = new Map([['duration', operation.duration]]);
  for (const [name, value] of totals(processes, operation.members)) features.set(name, value);
  return features;
}

/** Numbers, CPU time and every metric of some processes together. */
function totals(processes: CountedProcesses, members: ArrayLike<number>): Features {
  const features: Features = new Map();
  if (members.length === 0) return features;
  const set = (name: string, total: number): void => {
    if (!Number.isNaN(total)) features.set(name, total);
  };
  set('cpu_time', sumOf(processes.cpu_time, members));
  features.set('processes', members.length);
  set('threads', sumOf(processes.threads, members));
  for (const [name, total] of metricTotals(processes, members)) if (!NO_FEATURES.has(name)) features.set(name, total);
  return features;
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
