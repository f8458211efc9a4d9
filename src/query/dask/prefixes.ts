import type { Recording } from '../../recording/folder/open.ts';
import { quantiles } from '../../recording/sealed/quantiles.ts';
import { type DaskTasks, daskTasks, textOf } from './tasks.ts';
import { type WorkerUse, workerUse } from './worker-use.ts';

/** What the tasks of a prefix did and used. Seconds and bytes; undefined: not measured. */
export interface PrefixUse {
  prefix: string;
  /** Executions. */
  tasks: number;
  erred: number;
  lost: number;
  /** Executions of keys that had been computed before. */
  recomputed: number;
  /** Of all executions together. */
  seconds: number;
  mean_seconds?: number;
  median_seconds?: number;
  max_seconds?: number;
  transfer_seconds: number;
  disk_seconds: number;
  /** Results together. */
  bytes: number;
  /** Their part of the CPU time of the workers. */
  cpu_seconds?: number;
  /** Memory of a worker while one of them ran. */
  memory_peak_bytes?: number;
  memory_mean_bytes?: number;
  gpu_peak_percent?: number;
  gpu_mean_percent?: number;
  gpu_memory_peak_bytes?: number;
  /** Part of their time in which other tasks ran on the same worker: CPU time is then a share, memory and GPU are of all of them. */
  shared: number;
}

/** What a task used, by its place in the set of its monitor. */
interface TaskShares {
  cpu: Float64Array;
  memoryPeak: Float64Array;
  memoryTime: Float64Array;
  gpuPeak: Float64Array;
  gpuTime: Float64Array;
  gpuMemoryPeak: Float64Array;
  /** Time with a sample on both sides, and time in which it was not alone. */
  measured: Float64Array;
  shared: Float64Array;
}

export interface DaskUse {
  tasks: DaskTasks;
  workers: Map<string, WorkerUse>;
  shares: TaskShares;
}

/** The tasks of a recording, with what each of them used. */
export function daskUse({ nodes }: Pick<Recording, 'nodes'>): DaskUse[] {
  return nodes
    .filter(({ tables }) => tables.has('dask_task'))
    .map((node) => {
      const [tasks] = daskTasks({ nodes: [node] }) as [DaskTasks];
      const workers = workerUse(node);
      return { tasks, workers, shares: sharesOf(tasks, workers) };
    });
}

function sharesOf(tasks: DaskTasks, workers: Map<string, WorkerUse>): TaskShares {
  const empty = (value: number) => new Float64Array(tasks.length).fill(value);
  const shares: TaskShares = {
    cpu: empty(0),
    memoryPeak: empty(Number.NaN),
    memoryTime: empty(0),
    gpuPeak: empty(Number.NaN),
    gpuTime: empty(0),
    gpuMemoryPeak: empty(Number.NaN),
    measured: empty(0),
    shared: empty(0),
  };
  const rows = Map.groupBy(
    Array.from({ length: tasks.length }, (_, i) => i),
    (row) => tasks.worker.codes[row]!,
  );
  for (const [code, own] of rows) {
    const worker = workers.get(tasks.worker.values[code]!);
    if (worker !== undefined && worker.times.length > 1) share(tasks, own, worker, shares);
    alone(tasks, own, shares);
  }
  return shares;
}

/** How long each task was not alone on its worker: between the edges of tasks their number is the same. */
function alone(tasks: DaskTasks, rows: readonly number[], shares: TaskShares): void {
  const ran = rows.filter((row) => tasks.start[row]! < tasks.stop[row]!);
  const edges = Float64Array.from(ran.flatMap((row) => [tasks.start[row]!, tasks.stop[row]!])).sort();
  const starts = Float64Array.from(ran, (row) => tasks.start[row]!).sort();
  const stops = Float64Array.from(ran, (row) => tasks.stop[row]!).sort();
  // time until each edge in which at least two ran
  const together = new Float64Array(edges.length);
  let [s, e] = [0, 0];
  for (let i = 0; i + 1 < edges.length; i++) {
    while (s < starts.length && starts[s]! <= edges[i]!) s++;
    while (e < stops.length && stops[e]! <= edges[i]!) e++;
    together[i + 1] = together[i]! + (s - e > 1 ? edges[i + 1]! - edges[i]! : 0);
  }
  for (const row of ran)
    shares.shared[row] = together[placeOf(edges, tasks.stop[row]!)]! - together[placeOf(edges, tasks.start[row]!)]!;
}

/** The place of the first that is not before `value`. */
function placeOf(sorted: Float64Array, value: number): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle]! < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Gives every task its part of what its worker used between two samples: by the time that each ran there. */
function share(tasks: DaskTasks, rows: readonly number[], worker: WorkerUse, shares: TaskShares): void {
  const { times, cpu, memory, gpu } = worker;
  const busy = new Float64Array(times.length);
  const each = (row: number, take: (interval: number, overlap: number) => void): void => {
    const [start, stop] = [tasks.start[row]!, tasks.stop[row]!];
    if (!(stop > start)) return;
    for (let i = Math.max(0, placeOf(times, start) - 1); i + 1 < times.length && times[i]! < stop; i++) {
      const overlap = Math.min(stop, times[i + 1]!) - Math.max(start, times[i]!);
      if (overlap > 0) take(i, overlap);
    }
  };
  for (const row of rows)
    each(row, (i, overlap) => {
      busy[i]! += overlap;
    });
  const max = (of: Float64Array, row: number, value: number): void => {
    if (!(of[row]! >= value) && !Number.isNaN(value)) of[row] = value;
  };
  for (const row of rows)
    each(row, (i, overlap) => {
      const used = cpu[i + 1]! - cpu[i]!;
      const length = times[i + 1]! - times[i]!;
      // a worker that was hardly busy used its CPU time elsewhere, too: no task gets more than its time allows
      if (used >= 0) shares.cpu[row]! += (used * overlap) / Math.max(busy[i]!, length);
      shares.measured[row]! += overlap;
      shares.memoryTime[row]! += ((memory[i]! + memory[i + 1]!) / 2) * overlap;
      max(shares.memoryPeak, row, Math.max(memory[i]!, memory[i + 1]!));
      if (gpu === undefined) return;
      shares.gpuTime[row]! += gpu.compute[i + 1]! * overlap;
      max(shares.gpuPeak, row, gpu.compute[i + 1]!);
      max(shares.gpuMemoryPeak, row, Math.max(gpu.memory[i]!, gpu.memory[i + 1]!));
    });
}

/** Which rows of tasks count. */
export interface TaskChoice {
  job?: number;
  dag?: number;
  worker?: string;
}

/** The prefixes of a recording, by the time that their tasks took together. */
export function prefixUse(all: readonly DaskUse[], choice: TaskChoice = {}): PrefixUse[] {
  const found = new Map<string, PrefixUse & Sums>();
  for (const use of all) {
    const computed = new Set<number>();
    const order = byStop(use.tasks);
    for (const row of order) {
      const { tasks } = use;
      if (choice.job !== undefined && tasks.job[row] !== choice.job) continue;
      if (choice.dag !== undefined && tasks.dag[row] !== choice.dag) continue;
      if (choice.worker !== undefined && textOf(tasks.worker, row) !== choice.worker) continue;
      const prefix = textOf(tasks.prefix, row);
      const sums = found.get(prefix) ?? newSums(prefix);
      found.set(prefix, sums);
      add(sums, use, row, computed);
    }
  }
  return [...found.values()].map(finished).sort((a, b) => b.seconds - a.seconds);
}

function byStop({ length, stop }: DaskTasks): Uint32Array {
  const rows = Uint32Array.from({ length }, (_, i) => i);
  return rows.sort((a, b) => stop[a]! - stop[b]!);
}

interface Sums {
  durations: number[];
  measured: number;
  memoryTime: number;
  gpuTime: number;
  sharedTime: number;
}

const newSums = (prefix: string): PrefixUse & Sums => ({
  prefix,
  tasks: 0,
  erred: 0,
  lost: 0,
  recomputed: 0,
  seconds: 0,
  transfer_seconds: 0,
  disk_seconds: 0,
  bytes: 0,
  shared: 0,
  durations: [],
  measured: 0,
  memoryTime: 0,
  gpuTime: 0,
  sharedTime: 0,
});

function add(sums: PrefixUse & Sums, { tasks, shares, workers }: DaskUse, row: number, computed: Set<number>): void {
  const outcome = textOf(tasks.outcome, row);
  sums.tasks++;
  if (outcome === 'erred') sums.erred++;
  else if (outcome === 'lost') sums.lost++;
  else {
    const key = tasks.key.codes[row]!;
    if (computed.has(key)) sums.recomputed++;
    computed.add(key);
  }
  const seconds = (tasks.stop[row]! - tasks.start[row]!) / 1e6;
  if (seconds >= 0) {
    sums.durations.push(seconds);
    sums.seconds += seconds;
  }
  const plus = (name: 'transfer_seconds' | 'disk_seconds' | 'bytes', value: number, scale: number): void => {
    if (!Number.isNaN(value)) sums[name] += value / scale;
  };
  plus('transfer_seconds', tasks.transfer[row]!, 1e6);
  plus('disk_seconds', tasks.disk[row]!, 1e6);
  plus('bytes', tasks.bytes[row]!, 1);
  sums.sharedTime += shares.shared[row]! / 1e6;
  const measured = shares.measured[row]!;
  if (measured === 0) return;
  sums.measured += measured;
  sums.cpu_seconds = (sums.cpu_seconds ?? 0) + shares.cpu[row]! / 1e6;
  sums.memoryTime += shares.memoryTime[row]!;
  sums.memory_peak_bytes = Math.max(sums.memory_peak_bytes ?? 0, shares.memoryPeak[row]!);
  if (workers.get(textOf(tasks.worker, row))?.gpu === undefined || Number.isNaN(shares.gpuPeak[row]!)) return;
  sums.gpuTime += shares.gpuTime[row]!;
  sums.gpu_peak_percent = Math.max(sums.gpu_peak_percent ?? 0, shares.gpuPeak[row]!);
  sums.gpu_memory_peak_bytes = Math.max(sums.gpu_memory_peak_bytes ?? 0, shares.gpuMemoryPeak[row]!);
}

function finished({ durations, measured, memoryTime, gpuTime, sharedTime, ...use }: PrefixUse & Sums): PrefixUse {
  const sorted = Float64Array.from(durations);
  if (sorted.length > 0) {
    use.mean_seconds = use.seconds / sorted.length;
    [use.median_seconds, use.max_seconds] = quantiles(sorted, sorted.length, [0.5, 1]) as [number, number];
  }
  if (measured > 0 && !Number.isNaN(memoryTime)) use.memory_mean_bytes = memoryTime / measured;
  if (use.gpu_peak_percent !== undefined) use.gpu_mean_percent = gpuTime / measured;
  use.shared = use.seconds > 0 ? Math.min(1, sharedTime / use.seconds) : 0;
  return use;
}
