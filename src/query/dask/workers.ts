import { Fault } from '../../base/fault.ts';
import { byName, type NodeRecording, type Recording } from '../../recording/folder/open.ts';
import { textAt } from '../../recording/read/batch.ts';
import { readDefined } from '../../recording/read/read.ts';
import {
  daskGpuTable,
  daskGraphTable,
  daskMetricTable,
  daskTaskTable,
  daskWorkerTable,
} from '../../sources/own/dask.ts';

/** A value of one device, or of the worker; undefined: missing. */
export type DaskCell = number | string | undefined;

/** What was sampled of a worker: the rows of its CSV file. */
export interface DaskWorkerRows {
  address: string;
  name: string;
  /** Epoch microseconds. */
  times: readonly number[];
  jobs: readonly number[];
  dags: readonly number[];
  tasks: readonly string[];
  /** By the names of CSV columns: a row has one value per device, or one for the worker. */
  metrics: ReadonlyMap<string, readonly (readonly DaskCell[])[]>;
}

export interface DaskSamples {
  /** When recording first started, epoch microseconds; no sample is from before it. */
  start: number;
  /** What the CSV files have, besides job, dag, timestamp and custom metrics. */
  tracking: readonly string[];
  custom: readonly string[];
  workers: readonly DaskWorkerRows[];
}

/** GPU columns of the CSV files, and how they follow from `dask_gpu`. */
export const GPU_METRICS = ['total-mem', 'mem-util', 'compute-util'] as const;

export const hasDask = ({ nodes }: Pick<Recording, 'nodes'>): boolean =>
  nodes.some(({ tables }) => [daskWorkerTable, daskTaskTable, daskGraphTable].some(({ name }) => tables.has(name)));

export function needDask(recording: Recording): void {
  if (!hasDask(recording))
    throw new Fault(`${recording.path} has no Dask cluster`, { hint: 'tacho dask attach records one' });
}

/** The samples of all workers, sorted by the names of the workers; numbers in names count as numbers. */
export function daskSamples(recording: Recording): DaskSamples {
  needDask(recording);
  const workers = recording.nodes.flatMap(workersOf);
  workers.sort((a, b) => byName(a.name, b.name) || byName(a.address, b.address));
  const custom = new Set<string>();
  for (const { metrics } of workers)
    for (const name of metrics.keys()) if (!(GPU_METRICS as readonly string[]).includes(name)) custom.add(name);
  const started = recording.nodes.flatMap(startOf).sort((a, b) => a.time - b.time)[0];
  return {
    // the clocks of workers are known as well as their heartbeats say
    start: Math.min(started?.time ?? recording.job.start, ...workers.map(({ times }) => times[0]!)),
    tracking: started?.tracking ?? ['tasks', ...GPU_METRICS],
    custom: [...custom].sort(byName),
    workers,
  };
}

function startOf(node: NodeRecording): { time: number; tracking: string[] }[] {
  if (!node.tables.has(daskGraphTable.name)) return [];
  const batch = readDefined(node, daskGraphTable, { columns: ['event', 'name'] });
  const row = Array.from({ length: batch.rows }, (_, i) => i).find((i) => textAt(batch, 'event', i) === 'start');
  return row === undefined ? [] : [{ time: batch.time[row]!, tracking: textAt(batch, 'name', row).split(', ') }];
}

const NONE: readonly DaskCell[] = [];

function workersOf(node: NodeRecording): DaskWorkerRows[] {
  if (!node.tables.has(daskWorkerTable.name)) return [];
  const batch = readDefined(node, daskWorkerTable, { columns: ['name', 'tasks', 'dask_job', 'dag'] });
  const workers = new Map<string, DaskWorkerRows & { rowOf: Map<number, number> }>();
  for (let s = 0; s + 1 < batch.series.length; s++) {
    const [from, to] = [batch.series[s]!, batch.series[s + 1]!];
    if (from === to) continue;
    const rows = Array.from({ length: to - from }, (_, i) => from + i);
    const number = (column: 'dask_job' | 'dag') => rows.map((row) => batch.numbers.get(column)?.[row] ?? 0);
    const times = rows.map((row) => batch.time[row]!);
    workers.set(textAt(batch, 'worker', from), {
      address: textAt(batch, 'worker', from),
      name: textAt(batch, 'name', to - 1),
      times,
      jobs: number('dask_job'),
      dags: number('dag'),
      tasks: rows.map((row) => textAt(batch, 'tasks', row)),
      metrics: new Map(),
      rowOf: new Map(times.map((time, i) => [time, i])),
    });
  }
  addGpus(node, workers);
  addCustom(node, workers);
  return [...workers.values()].map(({ rowOf: _, ...worker }) => worker);
}

type Indexed = Map<string, DaskWorkerRows & { rowOf: Map<number, number> }>;

/** The cells of a metric of a worker, one list per row of its samples. */
function cellsOf(worker: DaskWorkerRows, metric: string): DaskCell[][] {
  const metrics = worker.metrics as Map<string, DaskCell[][]>;
  const cells = metrics.get(metric) ?? worker.times.map(() => NONE as DaskCell[]);
  metrics.set(metric, cells);
  return cells;
}

/** Puts a value of the n-th device into a row; devices that lack a value before it stay empty. */
function put(cells: DaskCell[][], row: number, column: number, width: number, value: DaskCell): void {
  if (cells[row] === NONE) cells[row] = new Array<DaskCell>(width).fill(undefined);
  cells[row]![column] = value;
}

function addGpus(node: NodeRecording, workers: Indexed): void {
  if (!node.tables.has(daskGpuTable.name)) return;
  const batch = readDefined(node, daskGpuTable);
  const [used, total, compute] = (['used_bytes', 'total_bytes', 'compute_percent'] as const).map((name) =>
    batch.numbers.get(name),
  );
  const devices = devicesOf(batch, ['worker']);
  const finite = (value: number | undefined): DaskCell => (Number.isFinite(value) ? value : undefined);
  for (let row = 0; row < batch.rows; row++) {
    const worker = workers.get(textAt(batch, 'worker', row));
    const at = worker?.rowOf.get(batch.time[row]!);
    if (worker === undefined || at === undefined) continue;
    const deviceNames = devices.get(worker.address)!;
    const column = deviceNames.indexOf(textAt(batch, 'device', row));
    const share = (100 * used![row]!) / total![row]!;
    const values = {
      'total-mem': finite(used?.[row]),
      'mem-util': finite(Number(share.toFixed(4))),
      'compute-util': finite(compute?.[row]),
    };
    for (const metric of GPU_METRICS) put(cellsOf(worker, metric), at, column, deviceNames.length, values[metric]);
  }
}

function addCustom(node: NodeRecording, workers: Indexed): void {
  if (!node.tables.has(daskMetricTable.name)) return;
  const batch = readDefined(node, daskMetricTable);
  const values = batch.numbers.get('value');
  const devices = devicesOf(batch, ['worker', 'metric']);
  for (let row = 0; row < batch.rows; row++) {
    const worker = workers.get(textAt(batch, 'worker', row));
    const at = worker?.rowOf.get(batch.time[row]!);
    if (worker === undefined || at === undefined) continue;
    const metric = textAt(batch, 'metric', row);
    const deviceNames = devices.get(`${worker.address}\n${metric}`)!;
    const value = values?.[row];
    const cell = Number.isFinite(value) ? value : textAt(batch, 'text', row) || undefined;
    put(cellsOf(worker, metric), at, deviceNames.indexOf(textAt(batch, 'device', row)), deviceNames.length, cell);
  }
}

/** The devices of each group of rows, by number. */
function devicesOf(
  batch: Parameters<typeof textAt>[0] & { rows: number },
  keys: readonly string[],
): Map<string, string[]> {
  const devices = new Map<string, Set<string>>();
  for (let row = 0; row < batch.rows; row++) {
    const group = keys.map((key) => textAt(batch, key, row)).join('\n');
    const deviceNames = devices.get(group) ?? new Set();
    devices.set(group, deviceNames.add(textAt(batch, 'device', row)));
  }
  return new Map([...devices].map(([group, deviceNames]) => [group, [...deviceNames].sort(byName)]));
}
