import { intersect, lengthOf } from '../../base/intervals.ts';
import { largest, type Material, sum } from '../../query/material.ts';
import { intervalsOf } from '../../query/spans/select.ts';
import { cpusOfJob } from '../../query/use/allocation.ts';
import { CPU_SOURCES, type CpuSource } from '../../query/use/cpu-total.ts';
import { memoryTruthOf } from '../../query/use/memory.ts';
import { gpuTable, processTable } from '../../sources/tables.ts';
import type { GpuReport, NodeReport, SummaryReport } from '../report-schema.ts';
import { gpuMean, weightedMean } from '../use/recorded-time.ts';
import { undivided } from './gpus.ts';
import { ranInSpan } from './processes.ts';

export function summaryOf(material: Material, nodes: readonly NodeReport[], gpus: readonly GpuReport[]): SummaryReport {
  const { job } = material;
  const { wall_seconds, wall_source } = wallOf(material, nodes);
  const recorded = nodes.filter((n) => n.status !== 'never recorded');
  const hours = wall_seconds / 3600;
  const summary: SummaryReport = {
    wall_seconds,
    wall_source,
    nodes: nodes.length,
    nodes_recorded: recorded.length,
    node_hours: hours * nodes.length,
  };
  const set: Set = (key, value) => {
    if (value !== undefined) summary[key] = value;
  };
  const cpus = cpusOfJob(material);
  set('cpus', cpus?.value);
  set('cpus_source', cpus?.source);
  if (cpus !== undefined) summary.core_hours = hours * cpus.value;
  setCpu(set, nodes);
  setMemory(set, material, nodes);
  setGpus(set, material, gpus, hours);
  setEnergy(set, nodes, wall_seconds);
  const limit = job.asked.time_limit_seconds;
  if (limit !== undefined && limit > 0) {
    summary.time_limit_seconds = limit;
    if (material.range === undefined) summary.time_used = wall_seconds / limit;
  }
  set('processes', material.processes?.length ?? processCount(material));
  return summary;
}

/** Of those that sampling saw, and of a part those that began and ended in it unseen, too. */
const processCount = (material: Material): number | undefined =>
  ranInSpan(material) ?? sum(material.nodes.map((n) => n.tables.get(processTable.name)?.series_total));

/** How busy CPUs and GPUs were in a part of the job. */
export function useOf(
  material: Material,
  nodes: readonly NodeReport[],
  gpus: readonly GpuReport[],
): Pick<SummaryReport, 'cpu_utilization' | 'cpu_source' | 'gpu_utilization'> {
  const useSummary: Partial<SummaryReport> = {};
  const set: Set = (key, value) => {
    if (value !== undefined) useSummary[key] = value;
  };
  setCpu(set, nodes);
  setGpus(set, material, gpus, 0);
  return useSummary;
}

type Set = <K extends keyof SummaryReport>(key: K, value: SummaryReport[K] | undefined) => void;

function wallOf(material: Material, nodes: readonly NodeReport[]): Pick<SummaryReport, 'wall_seconds' | 'wall_source'> {
  const { job, range } = material;
  // nothing may have been sampled in a part
  const newest = largest(nodes.map((n) => n.last_sample)) ?? largest(material.nodes.map((n) => n.agent?.last_sample));
  // nothing comes from any node: how long it has run the scheduler knows
  const isMute = nodes.length > 0 && nodes.every((n) => n.status === 'silent' || n.status === 'never recorded');
  const end = job.end ?? (isMute ? job.running_at : undefined) ?? newest ?? job.start;
  if (range !== undefined) {
    const ran = intersect(intervalsOf(range), [[job.start, Math.max(job.start, end)]]);
    return { wall_seconds: lengthOf(ran) / 1e6, wall_source: 'recording' };
  }
  if (job.usage !== undefined) return { wall_seconds: job.usage.wall_seconds, wall_source: 'wait4' };
  const isReported = job.scheduler !== 'none' && end === (job.end ?? job.running_at);
  return { wall_seconds: Math.max(0, end - job.start) / 1e6, wall_source: isReported ? 'scheduler' : 'recording' };
}

/** What may be said of the sum: no more than of its least exact part; a node where nothing was used does not count. */
function sourceOfAll(nodes: readonly NodeReport[]): CpuSource | undefined {
  const measuredNodes = nodes.filter((n) => n.cpu_source !== undefined);
  const used = measuredNodes.filter((n) => n.cpu_seconds! > 0);
  const sources = new Set((used.length > 0 ? used : measuredNodes).map((n) => n.cpu_source!));
  if (sources.has('records') && sources.has('processes') && !sources.has('node')) return 'records and samples';
  return CPU_SOURCES.findLast((source) => sources.has(source));
}

function setCpu(set: Set, nodes: readonly NodeReport[]): void {
  set('cpu_seconds', sum(nodes.map((n) => n.cpu_seconds)));
  set('cpu_source', sourceOfAll(nodes));
  const measured = nodes.filter((n) => n.cpu_utilization !== undefined && n.cpus !== undefined);
  const used = weightedMean(measured.map((n) => [n.cpu_utilization, n.cpus! * n.cpu_window_seconds!]));
  const had = sum(measured.map((n) => n.cpus));
  if (used === undefined || had === undefined || had === 0) return;
  set('cpus_busy', used * had);
  set('cpus_measured', had);
  set('cpu_utilization', used);
}

function setMemory(set: Set, material: Material, nodes: readonly NodeReport[]): void {
  set('memory_peaks_sum_bytes', sum(nodes.map((n) => n.memory_peak_bytes)));
  // the node that came nearest to what it may use
  const fill = (n: NodeReport): number =>
    (n.memory_peak_bytes ?? -1) / (n.memory_limit_bytes ?? Number.POSITIVE_INFINITY);
  const fullest = nodes
    .filter((n) => n.memory_peak_bytes !== undefined)
    .reduce<NodeReport | undefined>((a, b) => (a === undefined || fill(b) > fill(a) ? b : a), undefined);
  if (fullest === undefined) return;
  set('memory_peak_bytes', fullest.memory_peak_bytes);
  set('memory_peak_node', fullest.node);
  set('memory_source', fullest.memory_source);
  set('memory_shm_bytes', fullest.memory_shm_bytes);
  set('memory_limit_bytes', fullest.memory_limit_bytes);
  set('memory_limit_source', fullest.memory_limit_source);
  const node = material.nodes.find((n) => n.node === fullest.node);
  if (node !== undefined) set('memory', memoryTruthOf(material, node));
}

/** Cards of nodes whose table of them is lost. */
function lostCards({ nodes, unread = [] }: Material): number {
  const lost = nodes.filter(
    (n) => !n.tables.has(gpuTable.name) && unread.some((u) => u.node === n.node && u.table === gpuTable.name),
  );
  return sum(lost.map((n) => n.agent?.facts.gpus.length)) ?? 0;
}

function setGpus(set: Set, material: Material, gpus: readonly GpuReport[], hours: number): void {
  const own = undivided(gpus).filter((g) => g.own !== false);
  const number = material.job.asked.gpus ?? (own.length > 0 ? own.length + lostCards(material) : undefined);
  if (number !== undefined && number > 0) {
    set('gpus', number);
    set('gpu_hours', number * hours);
  }
  const measured = own.filter((g) => g.utilization_mean !== undefined).length;
  if (measured > 0) {
    set('gpu_utilization', gpuMean(own, 'utilization_mean'));
    // a node may show more cards than the job was given
    set('gpus_measured', Math.min(measured, number || measured));
  }
  set('gpu_utilization_max', largest(own.map((g) => g.utilization_max)));
  const fullest = own
    .filter((g) => g.memory_max_bytes !== undefined)
    .sort(
      (a, b) => b.memory_max_bytes! / (b.memory_total_bytes ?? 1) - a.memory_max_bytes! / (a.memory_total_bytes ?? 1),
    )[0];
  set('gpu_memory_peak_bytes', fullest?.memory_max_bytes);
  set('gpu_memory_total_bytes', fullest?.memory_total_bytes);
  const watts = gpuMean(own, 'power_mean_watts');
  const metered = own.filter((g) => g.power_mean_watts !== undefined).length;
  set('gpu_power_mean_watts', watts === undefined ? undefined : watts * metered);
  set('gpu_temperature_max_celsius', largest(own.map((g) => g.temperature_max_celsius)));
}

function setEnergy(set: Set, nodes: readonly NodeReport[], wall: number): void {
  const measured = nodes.filter((n) => n.energy_joules !== undefined);
  if (measured.length === 0) return;
  set('energy_joules', sum(measured.map((n) => n.energy_joules)));
  const sources = new Set(measured.map((n) => n.energy_source!));
  set('energy_source', sources.size === 1 ? [...sources][0] : 'both');
  set('energy_covers', [...new Set(measured.flatMap((n) => n.energy_covers ?? []))]);
  const energyShare = ({ energy_seconds: seconds }: NodeReport): number =>
    wall > 0 ? Math.min(1, seconds! / wall) : 1;
  set('energy_coverage', measured.reduce((shares, n) => shares + energyShare(n), 0) / nodes.length);
}
