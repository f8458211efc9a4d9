import type { Resource } from '../query/use/use.ts';
import {
  cgroupTable,
  cpuTable,
  daskWorkerTable,
  diskTable,
  gpuTable,
  loadavgTable,
  lustreTable,
  meminfoTable,
  networkTable,
  nfsTable,
  powerTable,
  pressureTable,
  processMemoryTable,
  processTable,
  vmstatTable,
} from '../sources/tables.ts';
import type { TableColumn } from '../table/table.ts';

/** What the values of a chart are, after counters have become rates. */
export type ChartUnit = 'CPUs' | 'bytes' | 'bytes/s' | '%' | 'W' | 'J' | '°C' | 'MHz' | 'threads' | 's' | '1/s' | '';

export const CHART_GROUPS = ['CPU', 'Memory', 'GPU', 'I/O', 'Network', 'Power', 'Waiting', 'Dask', 'Columns'] as const;
export type ChartGroup = (typeof CHART_GROUPS)[number];

/** A column over time, one series for each node and key. */
export interface ColumnSource {
  column: TableColumn;
  /** Only series with these keys. */
  keys?: Readonly<Record<string, string>>;
  /** Series with these keys are left out: what they count is in others. */
  without?: Readonly<Record<string, string>>;
  /** A column of the same table: what is shown is this one minus `column`. */
  from?: TableColumn;
  /** What is shown is the value times this. */
  factor?: number;
  scope: 'job' | 'node';
  /** The series of a node are added up: one for each process, and what is asked for is all of them. */
  sum?: true;
  /** Only where the job has a cgroup of its own: else others are in it, too. */
  own?: true;
}

/** What was used up in each step of the time, one series for each node. */
export interface UseSource {
  use: Resource;
  scope: 'job' | 'node';
}

/** CPU time of each rank of a parallel program. */
export interface RankSource {
  ranks: true;
  scope: 'job';
}

export type ChartSource = ColumnSource | UseSource | RankSource;

/** A chart of what a job did over time. */
export interface JobChart {
  id: string;
  group: ChartGroup;
  title: string;
  unit: ChartUnit;
  /** The first of these that a recording has is drawn. */
  sources: readonly ChartSource[];
  /** What tells the series of one node apart (`gpu`, `cpu`; `pid start` are two keys); not there: a node has one. */
  key?: string;
  /** One sentence: what the values are. */
  help: string;
  /** Columns that it does not draw, but of which it shows the effect: evidence that names them is shown here. */
  about?: readonly string[];
  /** Its series add up to something that means something. */
  adds?: true;
  /** What each of its series is held to, as another column of the same table says. */
  limit?: TableColumn;
  /** The largest value that there can be. */
  top?: number;
  /** Who is unlike the others is what it is looked at for: a heat map is drawn first. */
  heat?: true;
}

/** As evidence names columns. */
const names = (...columns: readonly TableColumn[]): string[] => columns.map(({ table, name }) => `${table}.${name}`);

const IN_JOB = { cgroup: '.' } as const;
const used = (use: Resource, scope: 'job' | 'node' = 'node'): UseSource => ({ use, scope });
const gpu = (column: TableColumn): ColumnSource[] => [{ column, scope: 'node' }];
const MEMORY_IN_USE: ColumnSource = {
  column: meminfoTable.col.MemAvailable_bytes,
  from: meminfoTable.col.MemTotal_bytes,
  scope: 'node',
};

/** Every chart that a job may have, in the order of the page. */
// biome-ignore format: one chart, one line
export const JOB_CHARTS: readonly JobChart[] = [
  { id: 'cpu', group: 'CPU', title: 'CPUs used', help: 'CPU time of the job in each second of it: 2 is two CPUs busy all the time.', about: [...names(cgroupTable.col.usage_us), 'wait4'], unit: 'CPUs', adds: true, sources: [used('CPU', 'job')] },
  { id: 'cores', group: 'CPU', title: 'Each CPU of the nodes', help: "How busy each CPU of the nodes was, with everybody's work.", unit: '%', key: 'cpu', top: 100, heat: true,
    sources: [{ column: cpuTable.col.busy_ms, without: { cpu: 'all' }, factor: 0.1, scope: 'node' }] },
  { id: 'ranks', group: 'CPU', title: 'CPUs used by each rank', help: 'CPU time of the processes of each rank in each second, as sampling saw it.', unit: 'CPUs', key: 'rank', heat: true, sources: [{ ranks: true, scope: 'job' }] },
  { id: 'runnable', group: 'CPU', title: 'Runnable threads', help: 'Threads that ran or waited for a CPU, of everybody on the node.', about: ['loadavg', ...names(loadavgTable.col.load1)], unit: 'threads', sources: [{ column: loadavgTable.col.runnable, scope: 'node' }] },
  { id: 'memory', group: 'Memory', title: 'Memory used', help: 'Memory of the job on each node, as its cgroup counts it; else of its processes.', about: names(cgroupTable.col.memory_peak_bytes, cgroupTable.col.memory_anon_bytes, cgroupTable.col.memory_file_bytes, cgroupTable.col.oom_kills), unit: 'bytes', adds: true, sources: [
    { column: cgroupTable.col.memory_current_bytes, keys: IN_JOB, own: true, scope: 'job' },
    { column: processMemoryTable.col.pss_bytes, scope: 'job' },
    { column: processTable.col.rss_bytes, sum: true, scope: 'job' },
    MEMORY_IN_USE,
  ] },
  { id: 'memory-node', group: 'Memory', title: 'Memory in use on the nodes', help: 'Memory in use on each node, by everybody: what it has minus what is available.', about: names(meminfoTable.col.MemFree_bytes, vmstatTable.col.oom_kill), unit: 'bytes', adds: true, sources: [MEMORY_IN_USE] },
  { id: 'gpu', group: 'GPU', title: 'GPU use', help: 'Part of the time in which the GPU worked at anything at all.', unit: '%', key: 'gpu', top: 100, heat: true, sources: gpu(gpuTable.col.utilization_percent) },
  { id: 'gpu-memory', group: 'GPU', title: 'GPU memory used', help: 'Memory of each GPU that is taken.', unit: 'bytes', key: 'gpu', adds: true, sources: gpu(gpuTable.col.memory_used_bytes) },
  { id: 'gpu-power', group: 'GPU', title: 'GPU power', help: 'Power of each GPU.', about: names(gpuTable.col.energy_mj), unit: 'W', key: 'gpu', adds: true, sources: gpu(gpuTable.col.power_watts) },
  { id: 'gpu-temperature', group: 'GPU', title: 'GPU temperature', help: 'Temperature of each GPU.', unit: '°C', key: 'gpu', sources: gpu(gpuTable.col.temperature_celsius) },
  { id: 'gpu-clock', group: 'GPU', title: 'GPU clock', help: 'Clock of each GPU: heat and power limits lower it.', about: names(gpuTable.col.throttle), unit: 'MHz', key: 'gpu', sources: gpu(gpuTable.col.clock_mhz) },
  { id: 'read', group: 'I/O', title: 'Read from local disks', help: 'Read from local disks in each second.', about: names(cgroupTable.col.io_read_bytes, diskTable.col.read_bytes, processTable.col.read_bytes), unit: 'bytes/s', adds: true, sources: [used('job, local disks in', 'job'), used('disk in')] },
  { id: 'written', group: 'I/O', title: 'Written to local disks', help: 'Written to local disks in each second.', about: names(cgroupTable.col.io_written_bytes, diskTable.col.written_bytes, processTable.col.written_bytes), unit: 'bytes/s', adds: true, sources: [used('job, local disks out', 'job'), used('disk out')] },
  { id: 'lustre-read', group: 'I/O', title: 'Read from Lustre', help: 'Read from Lustre in each second, by everybody on the node.', about: names(lustreTable.col.read_bytes), unit: 'bytes/s', adds: true, sources: [used('Lustre in')] },
  { id: 'lustre-written', group: 'I/O', title: 'Written to Lustre', help: 'Written to Lustre in each second, by everybody on the node.', about: names(lustreTable.col.written_bytes), unit: 'bytes/s', adds: true, sources: [used('Lustre out')] },
  { id: 'nfs-read', group: 'I/O', title: 'Read from NFS', help: 'Read from NFS in each second, by everybody on the node.', about: names(nfsTable.col.read_bytes), unit: 'bytes/s', adds: true, sources: [used('NFS in')] },
  { id: 'nfs-written', group: 'I/O', title: 'Written to NFS', help: 'Written to NFS in each second, by everybody on the node.', about: names(nfsTable.col.written_bytes), unit: 'bytes/s', adds: true, sources: [used('NFS out')] },
  { id: 'received', group: 'Network', title: 'Received', help: 'Received over the network in each second, by everybody on the node.', about: names(networkTable.col.received_bytes), unit: 'bytes/s', adds: true, sources: [used('network in')] },
  { id: 'sent', group: 'Network', title: 'Sent', help: 'Sent over the network in each second, by everybody on the node.', about: names(networkTable.col.sent_bytes), unit: 'bytes/s', adds: true, sources: [used('network out')] },
  { id: 'power', group: 'Power', title: 'Power', help: 'Power of the nodes as far as it is metered.', about: names(powerTable.col.energy_mj), unit: 'W', adds: true, sources: [used('energy')] },
  { id: 'pressure', group: 'Waiting', title: 'Pressure: time stalled', help: 'Share of time in which at least one thread of the node waited for a resource: CPU, I/O or memory (pressure stall information of Linux).', unit: '%', key: 'resource', top: 100,
    about: ['cgroup (stalled)'], sources: [{ column: pressureTable.col.some_total_us, factor: 1e-4, scope: 'node' }] },
  { id: 'dask-executing', group: 'Dask', title: 'Executing tasks', help: 'Tasks that execute on each Dask worker.', unit: '', key: 'worker', adds: true, sources: [{ column: daskWorkerTable.col.executing, scope: 'job' }] },
  { id: 'dask-memory', group: 'Dask', title: 'Memory of workers', help: 'Resident memory of each Dask worker, and the limit of a worker.', about: names(daskWorkerTable.col.limit_bytes), unit: 'bytes', key: 'worker', adds: true, limit: daskWorkerTable.col.limit_bytes, sources: [{ column: daskWorkerTable.col.memory_bytes, scope: 'job' }] },
  { id: 'dask-spilled', group: 'Dask', title: 'Results on disk', help: 'Results that each Dask worker has spilled to disk.', unit: 'bytes', key: 'worker', adds: true, sources: [{ column: daskWorkerTable.col.spilled_bytes, scope: 'job' }] },
];

export const chartOf = (id: string): JobChart | undefined => JOB_CHARTS.find((chart) => chart.id === id);

/** The columns that a chart may draw, as evidence names them. */
export const columnsOf = ({ sources }: JobChart): string[] =>
  names(...sources.flatMap((source) => ('column' in source ? source.column : [])));
