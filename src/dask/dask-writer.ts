import { TableWriter, type Trouble, type WriterOptions } from '../recording/live/append.ts';
import { daskGpuTable, daskGraphTable, daskMetricTable, daskTaskTable, daskWorkerTable } from '../sources/own/dask.ts';
import { Frame } from '../table/frame.ts';
import type { TaskEnded, WorkerSample } from './events.ts';
import type { JobAndGraph } from './job-numbers.ts';
import { prefixOf } from './prefix.ts';

const TASK = daskTaskTable.at;
const WORKER = daskWorkerTable.at;
const GPU = daskGpuTable.at;
const METRIC = daskMetricTable.at;
const GRAPH = daskGraphTable.at;

/** Number of prefixes in the name of a graph. */
const MOST_NAMES = 5;

/** One row of `dask_graph`. */
export interface ClusterEvent {
  time: number;
  event:
    | 'graph'
    | 'client'
    | 'client-gone'
    | 'worker'
    | 'worker-gone'
    | 'job'
    | 'start'
    | 'stop'
    | 'way'
    | 'missing'
    | 'note';
  client?: string;
  worker?: string;
  name?: string;
  wanted?: number;
  tasks?: number;
  jobAndGraph?: JobAndGraph;
}

const micro = (seconds: number): number => Math.round(seconds * 1e6);

/** Writes what a cluster tells into the folder of a node, as rows of the tables of Dask. */
export class DaskWriter {
  private readonly tables = [daskTaskTable, daskWorkerTable, daskGpuTable, daskMetricTable, daskGraphTable].map(
    (table) => {
      const frame = new Frame(table);
      // workers sample when they do: each row has its own moment
      frame.times ??= new Float64Array(8);
      return frame;
    },
  ) as [Frame, Frame, Frame, Frame, Frame];
  private readonly writers: TableWriter[];
  /** By worker: Python's identifiers of threads, in the order of their appearance. */
  private readonly threads = new Map<string, Map<number, number>>();
  private lastTime = 0;
  readonly rows = { tasks: 0, samples: 0, graphs: 0 };

  constructor(folder: string, options: WriterOptions = {}) {
    this.writers = this.tables.map(({ table }) => new TableWriter(folder, table, options));
  }

  task(task: TaskEnded, jobAndGraph: JobAndGraph | undefined): void {
    const [frame] = this.tables;
    frame.time = micro(task.stop);
    const row = frame.row();
    const texts = row * frame.textWidth;
    const numbers = row * frame.numberWidth;
    frame.texts[texts + TASK.worker] = task.worker;
    frame.texts[texts + TASK.key] = task.key;
    frame.texts[texts + TASK.prefix] = prefixOf(task.key);
    frame.texts[texts + TASK.outcome] = task.outcome;
    if (task.error !== undefined) frame.texts[texts + TASK.error] = task.error;
    if (task.thread !== undefined) frame.numbers[numbers + TASK.thread] = this.threadOf(task.worker, task.thread);
    if (task.start !== undefined) frame.numbers[numbers + TASK.start_time] = micro(task.start);
    if (task.transferSeconds !== undefined) frame.numbers[numbers + TASK.transfer_us] = micro(task.transferSeconds);
    if (task.diskSeconds !== undefined) frame.numbers[numbers + TASK.disk_us] = micro(task.diskSeconds);
    if (task.bytes !== undefined) frame.numbers[numbers + TASK.bytes] = task.bytes;
    if (jobAndGraph !== undefined) {
      frame.numbers[numbers + TASK.dask_job] = jobAndGraph.job;
      frame.numbers[numbers + TASK.dag] = jobAndGraph.dag;
    }
    this.rows.tasks++;
    if (frame.rows >= 1000) this.flush();
  }

  sample(sample: WorkerSample, jobAndGraph: JobAndGraph): void {
    const [, workers, gpus, metrics] = this.tables;
    const time = micro(sample.time);
    for (const frame of [workers, gpus, metrics]) frame.time = time;
    const row = workers.row();
    const texts = row * workers.textWidth;
    const numbers = row * workers.numberWidth;
    workers.texts[texts + WORKER.worker] = sample.worker;
    workers.texts[texts + WORKER.name] = sample.name;
    workers.texts[texts + WORKER.host] = sample.host;
    workers.texts[texts + WORKER.tasks] = (sample.tasks ?? []).join(', ');
    const values: [number, number | undefined][] = [
      [WORKER.pid, sample.pid],
      [WORKER.threads, sample.threads],
      [WORKER.executing, sample.executing],
      [WORKER.ready, sample.ready],
      [WORKER.fetching, sample.fetching],
      [WORKER.stored, sample.stored],
      [WORKER.memory_bytes, sample.memory],
      [WORKER.limit_bytes, sample.limit],
      [WORKER.managed_bytes, sample.managed],
      [WORKER.spilled_bytes, sample.spilled],
      [WORKER.cpu_us, sample.cpuMicroseconds],
      [WORKER.received_bytes, sample.received],
      [WORKER.sent_bytes, sample.sent],
      [WORKER.dask_job, jobAndGraph.job],
      [WORKER.dag, jobAndGraph.dag],
      [WORKER.sample_us, sample.sampleMicroseconds],
    ];
    for (const [at, value] of values) if (value !== undefined) workers.numbers[numbers + at] = value;
    for (const gpu of sample.gpus) {
      const r = gpus.row();
      gpus.texts[r * gpus.textWidth + GPU.worker] = sample.worker;
      gpus.texts[r * gpus.textWidth + GPU.device] = gpu.device;
      if (gpu.used !== undefined) gpus.numbers[r * gpus.numberWidth + GPU.used_bytes] = gpu.used;
      if (gpu.total !== undefined) gpus.numbers[r * gpus.numberWidth + GPU.total_bytes] = gpu.total;
      if (gpu.computePercent !== undefined)
        gpus.numbers[r * gpus.numberWidth + GPU.compute_percent] = gpu.computePercent;
    }
    for (const { metric, device, value } of sample.metrics) {
      const r = metrics.row();
      metrics.texts[r * metrics.textWidth + METRIC.worker] = sample.worker;
      metrics.texts[r * metrics.textWidth + METRIC.metric] = metric;
      metrics.texts[r * metrics.textWidth + METRIC.device] = device;
      if (typeof value === 'number') metrics.numbers[r * metrics.numberWidth + METRIC.value] = value;
      else if (typeof value === 'string') metrics.texts[r * metrics.textWidth + METRIC.text] = value;
    }
    this.rows.samples++;
  }

  event({ time, event, client = '', worker = '', name = '', wanted, tasks, jobAndGraph }: ClusterEvent): void {
    const [, , , , frame] = this.tables;
    // rows of one moment would be taken for one row
    this.lastTime = Math.max(micro(time), this.lastTime + 1);
    frame.time = this.lastTime;
    const row = frame.row();
    const texts = row * frame.textWidth;
    const numbers = row * frame.numberWidth;
    frame.texts[texts + GRAPH.event] = event;
    frame.texts[texts + GRAPH.client] = client;
    frame.texts[texts + GRAPH.worker] = worker;
    frame.texts[texts + GRAPH.name] = name;
    if (wanted !== undefined) frame.numbers[numbers + GRAPH.wanted] = wanted;
    if (tasks !== undefined) frame.numbers[numbers + GRAPH.tasks] = tasks;
    if (jobAndGraph !== undefined) {
      frame.numbers[numbers + GRAPH.dask_job] = jobAndGraph.job;
      frame.numbers[numbers + GRAPH.dag] = jobAndGraph.dag;
    }
    if (event === 'graph') this.rows.graphs++;
  }

  /** Writes what was told so far. */
  flush(): void {
    this.tables.forEach((frame, i) => {
      // without rows, what a full disk has refused is tried again
      if (frame.rows === 0 && !this.writers[i]!.isWaiting) return;
      this.writers[i]!.append(frame);
      frame.clear(frame.time);
    });
  }

  /** What the disk refuses, by table. */
  troubles(): { table: string; trouble: Trouble }[] {
    return this.writers.flatMap(({ trouble }, i) =>
      trouble === undefined ? [] : [{ table: this.tables[i]!.table.name, trouble }],
    );
  }

  async close(): Promise<void> {
    this.flush();
    await Promise.all(this.writers.map((writer) => writer.close()));
  }

  private threadOf(worker: string, thread: number): number {
    const threadIds = this.threads.get(worker) ?? new Map<number, number>();
    this.threads.set(worker, threadIds);
    const index = threadIds.get(thread) ?? threadIds.size;
    threadIds.set(thread, index);
    return index;
  }
}

/** The prefixes of the keys that a client wants. */
export const graphName = (keys: readonly string[]): string =>
  [...new Set(keys.map(prefixOf))].slice(0, MOST_NAMES).join(', ');
