import { append } from '../../base/extremes.ts';
import type { JobState } from '../../recording/folder/job.ts';
import type { ProcessMetric } from '../../sources/records/tables.ts';

/** What is known of a job whose processes are looked at. Times are epoch microseconds, UTC. */
export interface ProcessJob {
  id: string;
  name: string;
  user: string;
  nodes: readonly string[];
  start: number;
  /** NaN while it runs, or when nobody knows. */
  end: number;
  state: JobState;
  exit_code?: number;
  tags: Readonly<Record<string, string>>;
  /** Where it comes from: the recording's folder, or the database. */
  origin: string;
}

/**
 * record: the process told of its own end. parent: the process that waited for it did, as it was killed or says nothing
 * itself. start: only its start is known, so it was killed or still runs. sample: only sampling saw it; its end is when
 * it was seen last.
 */
export const PROCESS_ORIGINS = ['record', 'parent', 'start', 'sample'] as const;
export type ProcessOrigin = (typeof PROCESS_ORIGINS)[number];

export const TEXTS = [
  'node',
  'user',
  'exename',
  'argv0',
  'path',
  'args',
  'directory',
  'tags',
  'rank',
  'world',
  'step',
  'allowed_cpus',
  'ended',
  'source',
] as const;

export const NUMBERS = [
  'job',
  'pid',
  'ppid',
  'pgid',
  'sid',
  'uid',
  'start',
  'end',
  'birth',
  'sampled_birth',
  'exitcode',
  'exitsignal',
  'ranks',
  'threads',
  'cpu_time',
] as const;

type Texts = { [name in (typeof TEXTS)[number]]: string[] };
type Numbers = { [name in (typeof NUMBERS)[number]]: Float64Array };

/**
 * Processes as columns: `set.pid[i]` is the pid of the i-th. A process is one program image: one that executed another
 * program is followed by an image with the same pid. '' and NaN are missing. Times (start, end) are epoch microseconds,
 * `cpu_time` is in microseconds and the process's own, without children. `job` is a place in `jobs`. `birth` is when
 * the kernel's process began, before any exec: that is when its parent was alive. `sampled_birth` is the same as samples
 * have it, with which their rows are found; NaN when it was never sampled. `ranks` is how many ranks the launcher of a
 * rank started, and `world` what it calls them; `allowed_cpus` are the CPUs that sampling saw it bound to.
 */
export interface ProcessColumns extends Texts, Numbers {
  jobs: readonly ProcessJob[];
  length: number;
  /** Every metric by the name that its users know; counters are the image's own part. */
  metrics: Map<string, Float64Array>;
  /** What could not be read, in words. */
  troubles: string[];
}

/** What is needed to add processes up, and to group them by their tags. */
export type CountedProcesses = Pick<
  ProcessColumns,
  'jobs' | 'length' | 'job' | 'start' | 'end' | 'tags' | 'source' | 'threads' | 'cpu_time' | 'metrics'
>;

/** The metrics that are CPU time of the process itself. */
export const CPU_TIMES = ['usertime', 'systemtime'] as const satisfies readonly ProcessMetric[];

/** What follows from who started whom. −1 is nobody. */
export interface ProcessTree {
  parent: Int32Array;
  /** The children of i are `children[first[i]]` up to, not including, `children[first[i + 1]]`, by their start. */
  first: Uint32Array;
  children: Uint32Array;
  depth: Uint32Array;
  /** Processes below it, at any depth. */
  descendants: Uint32Array;
  /** Its own CPU time and that of all its descendants, microseconds. */
  inclusive_cpu_time: Float64Array;
  /** Every process, parents before their children. */
  order: Uint32Array;
  /** The first of the images that are the same process of the kernel: equal for those that have the same node, pid and birth. */
  process: Uint32Array;
}

export interface ProcessSet extends ProcessColumns, ProcessTree {}

/** Which process: with its start, because pids are used again. */
export interface ProcessId {
  /** A place in `jobs`. */
  job: number;
  node: string;
  pid: number;
  start: number;
}

/** The threads of one process. Times are epoch microseconds. */
export interface ThreadColumns {
  length: number;
  /** Below 0: it has no number, and is called by its place in its process (threadName). */
  tid: Float64Array;
  start: Float64Array;
  end: Float64Array;
  /** Microseconds. */
  cpu_time: Float64Array;
  metrics: Map<string, Float64Array>;
}

/** Where processes come from. Every question about them is answered from these two alone. */
export interface ProcessSource {
  /** With `wanted`, only the columns of these names need be there, besides those of the tree. */
  processes(wanted?: readonly string[]): Promise<ProcessColumns>;
  threads(process: ProcessId): Promise<ThreadColumns>;
}

/** Columns for so many processes, all missing. */
export function makeColumns(
  length: number,
  metrics: Iterable<string> = [],
  jobs: readonly ProcessJob[] = [],
): ProcessColumns {
  const numbers = Object.fromEntries(NUMBERS.map((name) => [name, missing(length)])) as Numbers;
  const texts = Object.fromEntries(TEXTS.map((name) => [name, new Array<string>(length).fill('')])) as Texts;
  const named = new Map(Array.from(metrics, (name) => [name, missing(length)] as const));
  return { ...numbers, ...texts, jobs, length, metrics: named, troubles: [] };
}

/** No value of any of so many. */
export const missing = (length: number): Float64Array => new Float64Array(length).fill(Number.NaN);

/** Several sets one behind the other; `job` counts through. */
export function joinColumns(columnSets: readonly ProcessColumns[]): ProcessColumns {
  const length = columnSets.reduce((sum, columnSet) => sum + columnSet.length, 0);
  const metrics = new Set(columnSets.flatMap((columnSet) => [...columnSet.metrics.keys()]));
  const joined = makeColumns(length, metrics);
  const jobs: ProcessJob[] = [];
  let at = 0;
  for (const columnSet of columnSets) {
    for (const name of NUMBERS) joined[name].set(columnSet[name].subarray(0, columnSet.length), at);
    for (const name of TEXTS) for (let i = 0; i < columnSet.length; i++) joined[name][at + i] = columnSet[name][i]!;
    for (const [name, values] of columnSet.metrics)
      joined.metrics.get(name)!.set(values.subarray(0, columnSet.length), at);
    // parts of the same job share its list of jobs
    let base = jobs.indexOf(columnSet.jobs[0]!);
    if (base < 0) base = jobs.push(...columnSet.jobs) - columnSet.jobs.length;
    for (let i = 0; i < columnSet.length; i++) joined.job[at + i]! += base;
    append(joined.troubles, columnSet.troubles);
    at += columnSet.length;
  }
  return { ...joined, jobs };
}

/** Some of the processes, with all that is known of them. */
export function pickProcesses(set: ProcessColumns, rowIndexes: readonly number[]): ProcessColumns {
  const picked = makeColumns(rowIndexes.length, set.metrics.keys(), set.jobs);
  const numbers = (from: Float64Array, into: Float64Array): void => {
    for (let i = 0; i < rowIndexes.length; i++) into[i] = from[rowIndexes[i]!]!;
  };
  for (const name of NUMBERS) numbers(set[name], picked[name]);
  for (const name of TEXTS) for (let i = 0; i < rowIndexes.length; i++) picked[name][i] = set[name][rowIndexes[i]!]!;
  for (const [name, values] of set.metrics) numbers(values, picked.metrics.get(name)!);
  return { ...picked, troubles: set.troubles };
}

/** How long a process lived, in microseconds; NaN when its end is not known. */
export function durationOf(set: ProcessColumns, i: number): number {
  return set.end[i]! - set.start[i]!;
}

/** Whether its end was reported, by itself or by its parent, with what it used. */
export const isExact = ({ source }: Pick<ProcessColumns, 'source'>, i: number): boolean =>
  source[i] === 'record' || source[i] === 'parent';

/** Ended with a code other than 0, or by a signal, also where nobody knows which. */
export function hasFailed(set: ProcessColumns, i: number): boolean {
  return set.exitcode[i]! > 0 || set.exitsignal[i]! > 0 || set.ended[i] === 'signal';
}
