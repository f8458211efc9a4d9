import { greatest, smallest } from '../../base/extremes.ts';
import type { Step } from '../../recording/folder/job.ts';
import type { ProcessMetric } from '../../sources/records/tables.ts';
import { processEndTable } from '../../sources/tables.ts';
import { commandOf } from '../processes/columns.ts';
import { isExact, type ProcessSet } from '../processes/set.ts';
import { peakTogether } from '../use/memory.ts';
import { type RankProcesses, type WorldProcesses, worldsOf } from './worlds.ts';

/** What a rank used. Times are epoch microseconds and seconds, memory and I/O are bytes; NaN and '' are not known. */
export interface Rank {
  rank: number;
  node: string;
  pid: number;
  /** The program that did most of its work, and with its arguments. */
  program: string;
  command: string;
  processes: number;
  threads: number;
  start: number;
  /** Of its last process; of one without a known end, when it was sampled last. */
  end: number;
  user_seconds: number;
  system_seconds: number;
  cpu_seconds: number;
  /** Ready to run, without a CPU. */
  wait_seconds: number;
  memory_peak_bytes: number;
  /** From and to storage. */
  read_bytes: number;
  written_bytes: number;
  /** By system calls, from and to wherever. */
  read_chars: number;
  written_chars: number;
  /** The CPUs that its program may run on, as a list. */
  allowed_cpus: string;
  exit_code: number;
  signal: number;
  /** record: its end was reported, by itself or its parent, with what it used. sample: only sampling saw what it used. */
  source: 'record' | 'sample';
}

/** Ranks that were started together. */
export interface World extends Pick<WorldProcesses, 'job' | 'launcher' | 'step' | 'size' | 'start'> {
  /** Counted from 1 in its job, in the order of their start. */
  number: number;
  end: number;
  /** By rank. */
  ranks: Rank[];
}

/** Ended with a code other than 0, or by a signal. */
export const hasFailedRank = ({ exit_code, signal }: Rank): boolean => exit_code > 0 || signal > 0;

const made = new WeakMap<ProcessSet, World[]>();

/** The worlds of the jobs of a set, by their start, each with its ranks; `steps`: what the scheduler told of one job. */
export function ranksOf(set: ProcessSet, steps?: readonly Step[]): World[] {
  const worlds = made.get(set) ?? makeWorlds(set, steps);
  made.set(set, worlds);
  return worlds;
}

function makeWorlds(set: ProcessSet, steps: readonly Step[] | undefined): World[] {
  const numbers = new Map<number, number>();
  return worldsOf(set, steps).map(({ job, launcher, step, size, start, ranks: processes }) => {
    const number = (numbers.get(job) ?? 0) + 1;
    numbers.set(job, number);
    const ranks = processes.map((each) => rankOf(set, each));
    return { job, number, launcher, step, size, start, end: greatest(ranks.map(({ end }) => end)), ranks };
  });
}

function rankOf(set: ProcessSet, { rank, node, root, rows }: RankProcesses): Rank {
  const metric = (name: ProcessMetric, unit = 1): number => {
    const values = set.metrics.get(name);
    return values === undefined ? Number.NaN : sumOf(rows, (i) => values[i]!) / unit;
  };
  const worker = rows.reduce((a, b) => ((set.cpu_time[b]! || 0) > (set.cpu_time[a]! || 0) ? b : a));
  const last = lastImage(set, root, rows);
  const [user, system] = [uncounted(set, rows, 'usertime', 'cutime'), uncounted(set, rows, 'systemtime', 'cstime')];
  return {
    rank,
    node,
    pid: set.pid[root]!,
    program: set.exename[worker]!,
    command: commandOf(set, worker),
    processes: new Set(rows.map((i) => set.process[i]!)).size,
    threads: set.threads[worker]!,
    start: smallest(rows.map((i) => set.start[i]!)),
    end: greatestKnown(rows.map((i) => set.end[i]!)),
    user_seconds: metric('usertime', 1e6) + user,
    system_seconds: metric('systemtime', 1e6) + system,
    cpu_seconds: sumOf(rows, (i) => set.cpu_time[i]!) / 1e6 + user + system,
    wait_seconds: metric('time_waiting', 1e9),
    memory_peak_bytes: peakOf(set, rows),
    read_bytes: metric('read_bytes'),
    written_bytes: metric('write_bytes'),
    read_chars: metric('rchar'),
    written_chars: metric('wchar'),
    allowed_cpus: set.allowed_cpus[worker]!,
    exit_code: set.exitcode[last]!,
    signal: set.exitsignal[last]! > 0 ? set.exitsignal[last]! : Number.NaN,
    source: rows.every((i) => isExact(set, i) || set.end[i]! < set.start[last]!) ? 'record' : 'sample',
  };
}

/**
 * Seconds that the kernel counted for children that were waited for, and that these did not record: it frees the memory of
 * a process after the process has written its record.
 */
function uncounted(set: ProcessSet, rows: readonly number[], own: ProcessMetric, ofChildren: ProcessMetric): number {
  const [used, waited] = [set.metrics.get(own), set.metrics.get(ofChildren)];
  if (used === undefined || waited === undefined) return 0;
  const ofProcesses = Map.groupBy(rows, (i) => set.process[i]!);
  const sum = (values: Float64Array, images: readonly number[]): number => sumOf(images, (i) => values[i]!) || 0;
  // of each process what its children used, with theirs
  const below = new Map<number, number>();
  let more = 0;
  for (const [process, images] of [...ofProcesses].sort(([a], [b]) => set.depth[b]! - set.depth[a]!)) {
    const recorded = below.get(process) ?? 0;
    const counted = Math.max(recorded, sum(waited, images));
    more += counted - recorded;
    const parent = set.process[set.parent[process]!];
    if (parent !== undefined) below.set(parent, (below.get(parent) ?? 0) + sum(used, images) + counted);
  }
  return more / 1e6;
}

/** What the first process of a rank was at its end: how that ended is how the rank ended. */
function lastImage(set: ProcessSet, root: number, rows: readonly number[]): number {
  const own = rows.filter((i) => set.process[i] === set.process[root]);
  return own.reduce((a, b) => (set.start[b]! > set.start[a]! ? b : a), root);
}

/** The most that its processes had at the same time; of those that a process was one after the other, the largest. */
function peakOf(set: ProcessSet, rows: readonly number[]): number {
  const peaks = set.metrics.get(processEndTable.col.rssmax.name);
  if (peaks === undefined) return Number.NaN;
  const measured = rows.filter((i) => !Number.isNaN(peaks[i]!));
  const lifetimes = [...Map.groupBy(measured, (i) => set.process[i]!).values()].map((images) => ({
    start: smallest(images.map((i) => set.start[i]!)),
    end: greatest(images.map((i) => set.end[i]! || set.start[i]!)),
    peak: greatest(images.map((i) => peaks[i]!)) * 1024,
  }));
  return peakTogether(lifetimes) ?? Number.NaN;
}

/** Of what is known; NaN when nothing is. */
function sumOf(rows: readonly number[], value: (i: number) => number): number {
  let sum = Number.NaN;
  for (const i of rows) {
    const own = value(i);
    if (!Number.isNaN(own)) sum = Number.isNaN(sum) ? own : sum + own;
  }
  return sum;
}

function greatestKnown(values: readonly number[]): number {
  const numbers = values.filter((value) => !Number.isNaN(value));
  return numbers.length === 0 ? Number.NaN : greatest(numbers);
}
