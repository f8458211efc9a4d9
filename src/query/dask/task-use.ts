import type { Recording } from '../../recording/folder/open.ts';
import { daskTaskTable } from '../../sources/own/dask.ts';
import { type DaskTasks, daskTasks } from './tasks.ts';
import { type WorkerUse, workerUse } from './worker-use.ts';

/** The tasks of a monitor, its workers, and what each task used. */
export interface DaskUse {
  tasks: DaskTasks;
  workers: Map<string, WorkerUse>;
  shares: TaskShares;
}

/** What tasks used. CPU is a share of their worker's; memory and GPU are the worker's. undefined: not measured. */
export interface UsedFigures {
  cpu_seconds?: number;
  /** CPUs in use by a task, on average, and in the sample with most. */
  cpu_mean_cores?: number;
  cpu_peak_cores?: number;
  memory_peak_bytes?: number;
  memory_mean_bytes?: number;
  gpu_peak_percent?: number;
  gpu_mean_percent?: number;
  gpu_memory_peak_bytes?: number;
}

/** One figure of all tasks, by their places in the set of their monitor. */
interface TaskFigure {
  /** Its values times the microseconds that they held. */
  sum: Float64Array;
  /** Microseconds of the task in which it was measured. */
  measured: Float64Array;
  peak: Float64Array;
}

export interface TaskShares {
  /** CPUs. */
  cpu: TaskFigure;
  /** Bytes. */
  memory: TaskFigure;
  /** Percent. */
  gpu: TaskFigure;
  gpuMemory: TaskFigure;
  /** Microseconds in which the task was not alone on its worker. */
  shared: Float64Array;
}

/** The tasks of a recording, with what each of them used. */
export function daskUse({ nodes }: Pick<Recording, 'nodes'>): DaskUse[] {
  return nodes
    .filter(({ tables }) => tables.has(daskTaskTable.name))
    .map((node) => {
      const [tasks] = daskTasks({ nodes: [node] }) as [DaskTasks];
      const workers = workerUse(node);
      return { tasks, workers, shares: sharesOf(tasks, workers) };
    });
}

/** Adds up what tasks used. */
export class UsedSum {
  private readonly figure = () => ({ sum: 0, measured: 0, peak: Number.NEGATIVE_INFINITY });
  private readonly sums = {
    cpu: this.figure(),
    memory: this.figure(),
    gpu: this.figure(),
    gpuMemory: this.figure(),
  };

  add(shares: TaskShares, row: number): this {
    for (const name of ['cpu', 'memory', 'gpu', 'gpuMemory'] as const) {
      const { sum, measured, peak } = shares[name];
      if (!(measured[row]! > 0)) continue;
      const total = this.sums[name];
      total.sum += sum[row]!;
      total.measured += measured[row]!;
      total.peak = Math.max(total.peak, peak[row]!);
    }
    return this;
  }

  figures(): UsedFigures {
    const { cpu, memory, gpu, gpuMemory } = this.sums;
    return {
      ...(cpu.measured > 0 && {
        cpu_seconds: cpu.sum / 1e6,
        cpu_mean_cores: cpu.sum / cpu.measured,
        cpu_peak_cores: cpu.peak,
      }),
      ...(memory.measured > 0 && { memory_peak_bytes: memory.peak, memory_mean_bytes: memory.sum / memory.measured }),
      ...(gpu.measured > 0 && { gpu_peak_percent: gpu.peak, gpu_mean_percent: gpu.sum / gpu.measured }),
      ...(gpuMemory.measured > 0 && { gpu_memory_peak_bytes: gpuMemory.peak }),
    };
  }
}

function sharesOf(tasks: DaskTasks, workers: Map<string, WorkerUse>): TaskShares {
  const figure = (length: number): TaskFigure => ({
    sum: new Float64Array(length),
    measured: new Float64Array(length),
    peak: new Float64Array(length).fill(Number.NEGATIVE_INFINITY),
  });
  // there may be millions of tasks, and mostly no GPU
  const withGpu = [...workers.values()].some(({ gpu }) => gpu !== undefined) ? tasks.length : 0;
  const shares: TaskShares = {
    cpu: figure(tasks.length),
    memory: figure(tasks.length),
    gpu: figure(withGpu),
    gpuMemory: figure(withGpu),
    shared: new Float64Array(tasks.length),
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
  for (const row of rows)
    each(row, (i, overlap) => {
      const length = times[i + 1]! - times[i]!;
      // a worker that was hardly busy used its CPU time elsewhere, too: no task gets more than its time allows
      const cores = (cpu[i + 1]! - cpu[i]!) / Math.max(busy[i]!, length);
      if (cores >= 0) note(shares.cpu, row, overlap, cores, cores);
      note(shares.memory, row, overlap, (memory[i]! + memory[i + 1]!) / 2, Math.max(memory[i]!, memory[i + 1]!));
      if (gpu === undefined) return;
      note(shares.gpu, row, overlap, gpu.compute[i + 1]!, gpu.compute[i + 1]!);
      const [before, after] = [gpu.memory[i]!, gpu.memory[i + 1]!];
      note(shares.gpuMemory, row, overlap, after, Number.isNaN(before) ? after : Math.max(before, after));
    });
}

/** A value that held for so long; one that is missing changes nothing. */
function note({ sum, measured, peak }: TaskFigure, row: number, overlap: number, value: number, most: number): void {
  if (Number.isNaN(value)) return;
  sum[row]! += value * overlap;
  measured[row]! += overlap;
  if (most > peak[row]!) peak[row] = most;
}
