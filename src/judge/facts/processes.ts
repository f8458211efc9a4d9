import { type Intervals, lengthOf, within } from '../../base/intervals.ts';
import { stated } from '../../base/stated.ts';
import {
  ifFinite,
  type Material,
  type NodeMaterial,
  type ProcessSeries,
  sum,
  tableOf,
  wholeOf,
} from '../../query/material.ts';
import { commandOf } from '../../query/processes/columns.ts';
import {
  isEarlier,
  isOnce,
  lastSampledAlive,
  processCpuSeconds,
  processPeak,
  processSeries,
} from '../../query/processes/sampled.ts';
import { sampleKey } from '../../query/processes/sampled-cpu.ts';
import type { ProcessOrigin, ProcessSet } from '../../query/processes/set.ts';
import { type PartProcesses, partProcessesOf, sampledInPart } from '../../query/use/part-processes.ts';
import { counted, isOlder, recordingBegan } from '../../recording/read/process-part.ts';
import type { Figures, Statistics } from '../../recording/sealed/statistics.ts';
import { KERNEL_CLOCK } from '../../sources/process/same-process.ts';
import { processEndTable, processTable } from '../../sources/tables.ts';
import type { TableColumn } from '../../table/table.ts';
import type { ProcessReport } from '../report-schema.ts';

/** Number of processes that are kept by CPU time, and as many again by memory. */
const MOST = 10;

/** The processes with most CPU time first, then those that only have much memory. */
export function processesOf(material: Material): ProcessReport[] {
  const all =
    material.range !== undefined ? material.nodes.flatMap((node) => timedOf(material, node)) : untimedOf(material);
  const byCpu = [...all].sort((a, b) => (b.cpu_seconds ?? -1) - (a.cpu_seconds ?? -1)).slice(0, MOST);
  const byMemory = [...all].sort((a, b) => (b.rss_max_bytes ?? -1) - (a.rss_max_bytes ?? -1)).slice(0, MOST);
  return [...new Set([...byCpu, ...byMemory])];
}

/** How many processes lived in a part, as far as records and samples tell; undefined when they do not. */
export function ranInSpan(material: Material): number | undefined {
  if (material.range === undefined) return undefined;
  return sum(
    material.nodes.map((node) => {
      const partProcesses = partProcessesOf(material, node);
      const sampled = node.tables.get(processTable.name)?.series_total;
      if (sampled === undefined && partProcesses.count === 0) return undefined;
      const beside = processSeries(node).length - sampledInPart(node, partProcesses).length;
      return (sampled ?? 0) - beside + partProcesses.byRecord.size + sampledLater(material, node, partProcesses).length;
    }),
  );
}

/** What began in a part, and was sampled only after it. */
function sampledLater(material: Material, node: NodeMaterial, partProcesses: PartProcesses): ProcessReport[] {
  const sampled = wholeOf(material).samples?.get(node.node)?.processes ?? [];
  const { series = [], series_total: total = 0 } = tableOf(node, processTable) ?? {};
  // the table of so many leaves small ones out that were sampled in the part
  if (series.length < total) return [];
  const here = new Set(series.map(({ keys }) => sampleKey(keys.pid, keys.start)));
  return sampled.flatMap(({ pid, start, command, user, times }): ProcessReport[] => {
    const key = sampleKey(pid, start);
    const used = partProcesses.bySample.get(key);
    const began = Number(start) * 1000;
    const span = partProcesses.spans.find(([from, to]) => began <= to && times[0]! > to && began > from - KERNEL_CLOCK);
    if (used === undefined || here.has(key) || partProcesses.notSampled.has(key) || span === undefined) return [];
    const seconds = (span[1] - Math.max(began, span[0])) / 1e6;
    const cpus_busy = busyCpus(used, seconds);
    return [{ node: node.node, pid, seconds, cpu_seconds: used, ...stated({ command, user, cpus_busy }) }];
  });
}

/** Of a part: what those used in it that lived in it, by their records where samples do not tell. */
function timedOf(material: Material, node: NodeMaterial): ProcessReport[] {
  const { processes: set } = wholeOf(material);
  const partProcesses = partProcessesOf(material, node);
  const rows = [...partProcesses.byRecord.keys()];
  const inside = sampledInPart(node, partProcesses).map((series): ProcessReport => {
    const { pid, start } = series.keys;
    return processOf(material, node, series, partProcesses.bySample.get(sampleKey(pid, start)));
  });
  const isMixed = rows.length > 0 || material.range?.step !== undefined;
  const sampled = [...inside, ...sampledLater(material, node, partProcesses)].map(
    (one): ProcessReport => (isMixed ? { ...one, source: 'sample' } : one),
  );
  if (set === undefined || rows.length === 0) return sampled;
  const all = processSeries(node).map((series) => processOf(material, node, series));
  return [...recordedOf(material, set, all, rows, partProcesses), ...sampled];
}

/** Of the whole job. */
function untimedOf(material: Material): ProcessReport[] {
  const { processes } = material;
  const sampled = material.nodes.flatMap((node) =>
    processSeries(node).map((series) => processOf(material, node, series)),
  );
  return processes === undefined ? sampled : recordedOf(material, processes, sampled);
}

/** Kernels count CPU time in ticks of up to 10 ms: a shorter life has no meaningful mean. */
const SHORTEST_LIFE = 0.02;

function busyCpus(cpu: number | undefined, life: number): number | undefined {
  return cpu !== undefined && life >= SHORTEST_LIFE ? cpu / life : undefined;
}

/** From records; how memory grew, only sampling can tell. */
function recordedOf(
  material: Material,
  set: ProcessSet,
  sampled: readonly ProcessReport[],
  rows: readonly number[] = Array.from({ length: set.length }, (_, i) => i),
  partProcesses?: PartProcesses,
): ProcessReport[] {
  const growing = new Map(
    sampled.filter((p) => p.rss_growth !== undefined).map((p) => [`${p.node} ${p.pid}`, p.rss_growth!]),
  );
  const memory = set.metrics.get(processEndTable.col.rssmax.name);
  const first = (of: (i: number) => number): number[] =>
    rows.toSorted((a, b) => (of(b) || -1) - (of(a) || -1) || a - b).slice(0, MOST);
  // a program that leaks is told even if others have more
  const leaking = rows.filter((i) => growing.has(`${set.node[i]} ${set.pid[i]}`) && set.ended[i] !== 'exec');
  const used = (i: number): number => partProcesses?.byRecord.get(i) ?? set.cpu_time[i]!;
  const kept = new Set([...first(used), ...first((i) => memory?.[i] ?? -1), ...leaking]);
  const agents = new Map(material.nodes.map((node) => [node.node, node.agent]));
  const began = (node: string): number => recordingBegan(agents.get(node), material.job);
  return [...kept].map((i) => {
    const processReport = recordOf(set, i, growing.get(`${set.node[i]} ${set.pid[i]}`), began(set.node[i]!));
    return partProcesses === undefined
      ? processReport
      : cut(set, i, processReport, partProcesses.byRecord.get(i)!, partProcesses.spans);
  });
}

/** Of a program that began before a part or ended after it, only what it used in it is told, and what is true all of its life. */
function cut(set: ProcessSet, i: number, processReport: ProcessReport, used: number, spans: Intervals): ProcessReport {
  const [start, end] = [set.start[i]!, set.end[i]!];
  if (spans.some(([from, to]) => start >= from && end <= to)) return processReport;
  const isEnd = spans.some(([from, to]) => end >= from && end <= to);
  if (spans.some(([from, to]) => start >= from - KERNEL_CLOCK && end <= to))
    return { ...processReport, cpu_seconds: used };
  const { read_bytes: _read, written_bytes: _written, exit_code, signal, cpus_busy: _busy, ...rest } = processReport;
  const seconds = lengthOf(within(spans, start, end)) / 1e6;
  const ended = isEnd ? stated({ exit_code, signal }) : {};
  return { ...rest, seconds, cpu_seconds: used, ...stated({ cpus_busy: busyCpus(used, seconds) }), ...ended };
}

function recordOf(set: ProcessSet, i: number, rss_growth: number | undefined, began: number): ProcessReport {
  const start = set.start[i]!;
  const seconds = (set.end[i]! - (isOlder(start, began) ? began : start)) / 1e6;
  const metric = ({ name }: TableColumn<'process_end'>, factor = 1): number | undefined =>
    ifFinite((set.metrics.get(name)?.[i] ?? Number.NaN) * factor);
  const cpu_seconds = ifFinite(set.cpu_time[i]! / 1e6);
  return {
    node: set.node[i]!,
    pid: String(set.pid[i]),
    seconds: ifFinite(seconds) ?? 0,
    source: set.source[i] as ProcessOrigin,
    ...stated({
      command: commandOf(set, i) || undefined,
      user: set.user[i] || undefined,
      cpu_seconds,
      cpus_busy: busyCpus(cpu_seconds, seconds),
      rank: set.ranks[i]! > 1 ? ifFinite(Number(set.rank[i])) : undefined,
      rss_max_bytes: metric(processEndTable.col.rssmax, 1024),
      rss_growth,
      threads_max: ifFinite(set.threads[i]),
      read_bytes: metric(processEndTable.col.read_bytes),
      written_bytes: metric(processEndTable.col.write_bytes),
      exit_code: ifFinite(set.exitcode[i]),
      signal: set.exitsignal[i]! > 0 ? set.exitsignal[i]! : undefined,
    }),
  };
}

function processOf(
  material: Material,
  node: NodeMaterial,
  series: ProcessSeries,
  used?: number | undefined,
): ProcessReport {
  const { columns } = series;
  const older = isEarlier(material, node, series);
  // CPU time from before it was seen counts from its beginning
  const started = Number(series.keys.start) * 1000;
  const began = older || Number.isNaN(started) ? series.start : started;
  const gone = used === undefined && series.texts.state === 'X';
  const last = gone ? lastSampledAlive(material, series.start, series.end) : series.end;
  const seconds = (last - began) / 1e6;
  const { command, name, user } = series.texts;
  const cpu_seconds = used ?? processCpuSeconds(material, node, series);
  const once = isOnce(material, node, series);
  const grown = (column: Figures | undefined) => column && ifFinite(counted(column, older, once));
  return {
    node: node.node,
    pid: series.keys.pid ?? '',
    seconds,
    ...stated({
      command: command || name || undefined,
      user: user || undefined,
      cpu_seconds,
      cpus_busy: busyCpus(cpu_seconds, seconds),
      rss_max_bytes: processPeak(material, node, series),
      rss_growth: steadyGrowth(columns.rss_bytes, series),
      threads_max: ifFinite(columns.threads?.max),
      read_bytes: grown(columns.read_bytes),
      written_bytes: grown(columns.written_bytes),
    }),
  };
}

/** The last part of a life. */
const AT_END = 0.05;

/** The middle half of a steady growth spans at least this part of the peak. */
const GROWN = 0.2;

/**
 * Bytes a second when the memory grew like a straight line: its quartiles are evenly apart, and the highest value is
 * the last. A program that fills its memory at the start and keeps it has quartiles that hardly differ.
 */
export function steadyGrowth(rss: Statistics | undefined, series: ProcessSeries): number | undefined {
  if (rss === undefined || rss.count < 20) return undefined;
  const seconds = (series.end - series.start) / 1e6;
  const [first, second] = [rss.p50 - rss.p25, rss.p75 - rss.p50];
  const even = first > 0 && second / first > 0.5 && second / first < 2;
  // one that was sampled while it ended has no memory any more
  const atEnd =
    rss.last > 0 ? rss.last >= 0.97 * rss.max : rss.max_time >= series.end - AT_END * (series.end - series.start);
  if (!even || !atEnd || seconds <= 0 || rss.p75 - rss.p25 < GROWN * rss.max) return undefined;
  return (rss.p75 - rss.p25) / (seconds / 2);
}
