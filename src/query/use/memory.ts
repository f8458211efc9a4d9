import { holds, type Intervals } from '../../base/intervals.ts';
import { HIGHER_PEAK, KERNEL_CLOCK } from '../../sources/process/same-process.ts';
import {
  cgroupTable,
  meminfoTable,
  processEndTable,
  processMemoryTable,
  processTotalTable,
} from '../../sources/tables.ts';
import { columnOf, ifFinite, largest, type Material, type NodeMaterial, seriesOf, sum, wholeOf } from '../material.ts';
import { lastSampledAlive, processPeak, processSeries } from '../processes/sampled.ts';
import { sampleKey, sampleKeyAt } from '../processes/sampled-cpu.ts';
import { isExact } from '../processes/set.ts';
import { intervalsOf, sampledPart } from '../spans/select.ts';
import { cgroupOf } from './cpu-total.ts';
import { partProcessesOf, sampledInPart } from './part-processes.ts';
import type { Points } from './samples.ts';

/** By whom memory is measured. */
export const MEMORY_SOURCES = ['cgroup', 'processes', 'pss', 'process', 'node'] as const;

/** A node's memory at most, in every way that it was measured, in bytes. */
export type MemoryTruth = Partial<
  Record<
    | `cgroup_${'peak' | 'anon_max' | 'file_max'}`
    | 'node_used_max'
    | `process_${'peaks_sum' | 'pss_max' | 'shared_max' | 'peak_max'}`,
    number
  >
>;

export interface MemoryUse {
  bytes: number;
  source: (typeof MEMORY_SOURCES)[number];
  /** By processes only: files in memory (/dev/shm) belong to none; so much more may be the job's. */
  shm_bytes?: number;
}

/** Every process has a part in it: worked out once for all who ask. */
const truths = new WeakMap<Material, WeakMap<NodeMaterial, MemoryTruth>>();

export function memoryTruthOf(material: Material, node: NodeMaterial): MemoryTruth {
  const byNode = truths.get(material) ?? new WeakMap<NodeMaterial, MemoryTruth>();
  truths.set(material, byNode);
  const truth = byNode.get(node) ?? makeTruth(material, node);
  byNode.set(node, truth);
  return truth;
}

function makeTruth(material: Material, node: NodeMaterial): MemoryTruth {
  const truth: MemoryTruth = {};
  const set = (key: keyof MemoryTruth, value: number | undefined): void => {
    if (ifFinite(value) !== undefined) truth[key] = value!;
  };
  set('cgroup_peak', largest([cgroupOf(node, cgroupTable.col.memory_current_bytes)?.max, cgroupMark(material, node)]));
  set('cgroup_anon_max', cgroupOf(node, cgroupTable.col.memory_anon_bytes)?.max);
  set('cgroup_file_max', cgroupOf(node, cgroupTable.col.memory_file_bytes)?.max);
  const partMemory = partMemoryOf(material, node);
  const recorded = recordedLives(material, node);
  const lifetimes = partMemory?.lifetimes ?? sampledLives(material, node, recorded);
  // the agent has put samples and records together; a store has nothing else, so it counts in recordings, too
  const total =
    material.range === undefined ? ifFinite(columnOf(node, processTotalTable.col.peak_bytes)?.max) : undefined;
  // each may lack processes: sampling those that come and go, records those that were killed
  const added = (): number | undefined => largest([peakTogether(timed(material, recorded)), peakTogether(lifetimes)]);
  set('process_peaks_sum', total ?? added());
  const sure = partMemory === undefined ? [...recorded, ...lifetimes].map(({ peak }) => peak) : [partMemory.largest];
  set('process_peak_max', largest([exactPeak(material), ...sure]));
  set('process_pss_max', columnOf(node, processMemoryTable.col.pss_bytes)?.max);
  set('process_shared_max', columnOf(node, processMemoryTable.col.shared_bytes)?.max);
  const all = columnOf(node, meminfoTable.col.MemTotal_bytes);
  const free = columnOf(node, meminfoTable.col.MemAvailable_bytes);
  if (all !== undefined && free !== undefined) set('node_used_max', all.max - free.min);
  return truth;
}

/**
 * The kernel's mark of the most that the cgroup had. It counts from the beginning of the cgroup: what a job did before this
 * recording is not in it, and a part has it only if it rose there, by the samples in it.
 */
function cgroupMark(material: Material, node: NodeMaterial): number | undefined {
  const { job, range } = material;
  const { memory_peak_bytes } = cgroupTable.col;
  const mark = cgroupOf(node, memory_peak_bytes);
  if (mark === undefined) return undefined;
  const { service, scope } = node.agent ?? {};
  const madeWithJob = service === true && !job.restart && scope?.cgroup_older !== true;
  if (range === undefined) return madeWithJob || !(mark.max <= mark.first) ? mark.max : undefined;
  const sampled = wholeOf(material).samples?.get(node.node)?.series.get(cgroupTable.name);
  const points = sampled?.find(({ keys }) => keys.cgroup === '.')?.points.get(memory_peak_bytes.name);
  return points && risenIn(points, intervalsOf(sampledPart(range)), madeWithJob);
}

/** The highest that a mark was raised to in these spans. */
function risenIn({ times, values }: Points, spans: Intervals, isNew: boolean): number | undefined {
  let before = isNew ? 0 : Number.POSITIVE_INFINITY;
  let highest: number | undefined;
  for (let i = 0; i < times.length; i++) {
    if (values[i]! > before && holds(spans, times[i]!)) highest = Math.max(highest ?? 0, values[i]!);
    before = Number.isNaN(values[i]!) ? before : values[i]!;
  }
  return highest;
}

/** A command of Tacho's grows a little after it has noted what it used. */
const NOTED = 1.1;

/** The largest process of the command by wait4, unless that was a command of Tacho's. */
function exactPeak({ job, range }: Material): number | undefined {
  const { usage, nodes, own_use } = job;
  if (nodes.length !== 1 || range !== undefined || usage?.max_rss_bytes === undefined || usage.elsewhere)
    return undefined;
  const own = own_use?.[nodes[0]!]?.max_rss_bytes ?? 0;
  return usage.max_rss_bytes > own * NOTED ? usage.max_rss_bytes : undefined;
}

/** Until when the memory of the job's cgroup was sampled: of what is about to go, CPU time may be there a tick longer. */
function memorySeen({ job }: Material, node: NodeMaterial): number | undefined {
  const [series] = seriesOf(node, cgroupTable, { cgroup: '.' });
  if (series === undefined) return undefined;
  const lacking = (series.columns.memory_current_bytes?.missing ?? 0) > 0;
  return series.end - (lacking ? (job.interval_seconds || 0) * 1e6 : 0);
}

/**
 * The largest process by records that no sample saw as large: one that went on after the last sample of the cgroup, or
 * any between two of them where the kernel's mark does not tell.
 */
function unseenPeak(material: Material, node: NodeMaterial): number | undefined {
  const { processes, range, leftOut } = material;
  const last = memorySeen(material, node);
  const isStore = leftOut !== undefined && range === undefined;
  const reportedPeak = isStore ? columnOf(node, processTotalTable.col.told_peak_bytes) : undefined;
  if (last === undefined) return undefined;
  if (reportedPeak !== undefined && reportedPeak.max_time > last) return reportedPeak.max;
  const sampled = new Map(processSeries(node).map((series) => [sampleKey(series.keys.pid, series.keys.start), series]));
  const isMarked = range !== undefined || cgroupMark(material, node) !== undefined;
  const unseen = recordedLives(material, node).filter(({ row, end, peak }) => {
    if (isMarked && !(end > last)) return false;
    const series = sampled.get(sampleKeyAt(processes!, row));
    const sampledPeak = series && processPeak(material, node, series);
    return sampledPeak === undefined || peak > sampledPeak * HIGHER_PEAK;
  });
  return largest(unseen.map(({ peak }) => peak));
}

/** When a process lived, and its highest resident set. */
interface Life {
  start: number;
  end: number;
  peak: number | undefined;
}

/** A row of the processes that recorded themselves. */
interface RecordedLife extends Life {
  row: number;
  peak: number;
}

/** What is known of processes of a node by their records, and by samples of those that left none. */
function recordedLives({ processes: set }: Material, { node }: NodeMaterial): RecordedLife[] {
  const peaks = set?.metrics.get(processEndTable.col.rssmax.name);
  const recordedLifetimes: RecordedLife[] = [];
  for (let row = 0; row < (peaks?.length ?? 0); row++) {
    const peak = peaks![row]! * 1024;
    if (set!.node[row] === node && peak > 0)
      recordedLifetimes.push({ row, start: set!.start[row]!, end: set!.end[row]!, peak });
  }
  return recordedLifetimes;
}

/** Those of which it is known when they were alive. */
function timed(material: Material, recordedLifetimes: readonly RecordedLife[]): Life[] {
  const { processes: set } = material;
  return recordedLifetimes
    .map(({ row, start, end, peak }) => ({
      start,
      end: isExact(set!, row) ? end : lastSampledAlive(material, start, end),
      peak,
    }))
    .filter(({ start, end }) => end >= start);
}

/** What is known of processes by samples; of one that was several programs in turn, each by its record. */
function sampledLives(material: Material, node: NodeMaterial, recorded: readonly RecordedLife[]): Life[] {
  const images = Map.groupBy(recorded, ({ row }) => sampleKeyAt(material.processes!, row));
  return processSeries(node).flatMap((series): Life[] => {
    const { start, end, keys } = series;
    const programs = images.get(sampleKey(keys.pid, keys.start)) ?? [];
    if (programs.length > 1 && programs.every(({ start, end }) => end >= start)) return programs;
    return [{ start, end: lastSampledAlive(material, start, end), peak: processPeak(material, node, series) }];
  });
}

/** Of a part of the job: its processes, each either by its record or as it was sampled. */
interface PartMemory {
  lifetimes: Life[];
  /** The largest of those that are known to have been so large in the part: not of one that may have been so beside it. */
  largest: number | undefined;
}

/** undefined when the whole job is looked at, or nobody knows more than samples tell. */
function partMemoryOf(material: Material, node: NodeMaterial): PartMemory | undefined {
  if (material.range === undefined) return undefined;
  const partProcesses = partProcessesOf(material, node);
  const recorded = new Map(recordedLives(wholeOf(material), node).map((life) => [life.row, life]));
  const [from, to] = [partProcesses.spans[0]![0], partProcesses.spans.at(-1)![1]];
  const sampled = sampledInPart(node, partProcesses).map((series): Life => {
    const { keys, start, end, columns } = series;
    const record = partProcesses.recorded.get(sampleKey(keys.pid, keys.start));
    const sampledPeak = largest([columns.rss_peak_bytes?.max, columns.rss_bytes?.max]);
    const last = record !== undefined && record.end <= to ? recorded.get(record.row)?.peak : undefined;
    // what it came to after its last sample, by its record
    const later = sampledPeak !== undefined && last! > sampledPeak * HIGHER_PEAK ? last : undefined;
    // rows beside the part stand for what lies in it
    const begin = Math.max(from, record?.begin ?? start);
    const ended = Math.min(to, record?.end ?? lastSampledAlive(material, start, end));
    return {
      start: begin,
      end: Math.max(begin, ended),
      peak: largest([processPeak(material, node, series), later]),
    };
  });
  const recordedInPart = [...partProcesses.byRecord.keys()].flatMap((row) => recorded.get(row) ?? []);
  const inside = recordedInPart.filter(({ start, end }) => start >= from - KERNEL_CLOCK && end <= to);
  const cut = recordedInPart.map(({ start, end, peak }) => ({
    start: Math.max(start, from),
    end: Math.min(end, to),
    peak,
  }));
  return { lifetimes: [...sampled, ...cut], largest: largest([...sampled, ...inside].map(({ peak }) => peak)) };
}

/** The most that the peaks of processes which lived at the same time add up to. */
export function peakTogether(lifetimes: readonly Life[]): number | undefined {
  const begun = lifetimes.filter(({ peak }) => peak !== undefined).sort((a, b) => a.start - b.start);
  const ended = begun.toSorted((a, b) => a.end - b.end);
  let now = 0;
  let gone = 0;
  let most: number | undefined;
  for (const { start, peak } of begun) {
    // what ends at that very moment counts: they were both seen
    while (gone < ended.length && ended[gone]!.end < start) now -= ended[gone++]!.peak!;
    now += peak!;
    if (most === undefined || now > most) most = now;
  }
  return most;
}

/** The one figure to hold against the limit. */
export function memoryOf(material: Material, node: NodeMaterial): MemoryUse | undefined {
  const truth = memoryTruthOf(material, node);
  if (truth.cgroup_peak !== undefined) {
    // a cgroup is gone with its last process: what that took since the last tick, only its record tells
    const unseen = unseenPeak(material, node);
    if (unseen !== undefined && unseen > truth.cgroup_peak) return { bytes: unseen, source: 'process' };
    return { bytes: truth.cgroup_peak, source: 'cgroup' };
  }
  const processes = processMemoryOf(truth);
  if (processes !== undefined) {
    const shm = shmGrowth(node);
    return shm > Math.max(SHM_BYTES, processes.bytes * SHM_PART) ? { ...processes, shm_bytes: shm } : processes;
  }
  if (node.agent?.scope.members === 'node' && truth.node_used_max !== undefined) {
    return { bytes: truth.node_used_max, source: 'node' };
  }
  return undefined;
}

/** Less than this part is not worth a figure that is only sampled. */
const SHARED_PART = 0.05;
/** What is shared is read again when processes have a tenth more (pss-rounds.ts): a peak that was read has so much of all peaks. */
const READ_PART = 0.9;

function processMemoryOf(truth: MemoryTruth): MemoryUse | undefined {
  const { process_peaks_sum: added, process_peak_max: one, process_pss_max: pss, process_shared_max: shared } = truth;
  if (added === undefined || added <= (one ?? 0))
    return one === undefined ? undefined : { bytes: one, source: 'process' };
  if (pss === undefined || !(shared! > added * SHARED_PART)) return { bytes: added, source: 'processes' };
  // what was read before most of it was there says nothing of the peak
  if (pss + shared! < added * READ_PART) return { bytes: added, source: 'processes' };
  // what is not known to be shared counts for each: peaks between two readings are in it
  return { bytes: Math.max(pss, one ?? 0, added - shared!), source: 'pss' };
}

/** Growth of less is noise of the node. */
const SHM_BYTES = 16 << 20;
const SHM_PART = 0.05;

/** What came to the node's shared memory and files in memory (tmpfs), less what a process of the job has mapped of it. */
function shmGrowth(node: NodeMaterial): number {
  const all = columnOf(node, meminfoTable.col.Shmem_bytes);
  if (all === undefined) return 0;
  const mapped = largest(processSeries(node).map(({ columns }) => ifFinite(columns.rss_shmem_bytes?.max))) ?? 0;
  return all.max - all.first - mapped;
}

/** What Tacho itself took at most in the cgroup of the job. Undefined: nothing is known to have been there. */
export function ownMemory({ job }: Material, { node, agent }: NodeMaterial): number | undefined {
  const inside = agent?.scope.cgroup_with_agent === true ? agent.cost.max_rss_bytes : undefined;
  const run = job.run_use?.node === node ? job.run_use.max_rss_bytes : undefined;
  return sum([inside, run, job.own_use?.[node]?.max_rss_bytes]);
}
