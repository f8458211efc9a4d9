import { counted } from '../../recording/read/process-part.ts';
import { countList } from '../../sources/host/facts.ts';
import type { ProcessMetric } from '../../sources/records/tables.ts';
import { ifFinite, type Material, type NodeMaterial, type ProcessSeries } from '../material.ts';
import { isEarlier, processCpuSeconds, processSeries } from '../processes/sampled.ts';
import { SAMPLED_METRICS } from '../processes/samples.ts';

/** What the job's processes on a node tell of their waiting for CPUs, and of their files. */
export interface ProcessWork {
  /** Seconds in which threads were ready to run and had no CPU; not there when most of the CPU time is that of processes that do not tell. */
  waited?: number;
  /** Bytes that went from and to storage for all of them, and page faults that waited for a disk; not there when one does not tell. */
  io_bytes?: number;
  major_faults?: number;
}

/** Share of the CPU time that processes with recorded waiting must have used. */
const MOST_OF_TIME = 0.5;

/** Of one process, by the names of records. */
type Metric = (name: ProcessMetric) => number | undefined;

/** The sampled columns that tell the same as records, and the factor between them. */
const SAMPLED = new Map(SAMPLED_METRICS.map(([column, metric, factor]) => [metric, [column, factor] as const]));

export function processWorkOf(material: Material, node: NodeMaterial): ProcessWork {
  let [ran, ranOfAll, waited] = [0, 0, 0];
  let [bytes, faults, silent, processCount]: [number, number | undefined, number, number] = [0, 0, 0, 0];
  for (const [cpu, metric] of processesOn(material, node)) {
    processCount++;
    ranOfAll += cpu;
    const wait = metric('time_waiting');
    if (wait !== undefined) {
      ran += cpu;
      waited += wait / 1e9;
    }
    // system calls also tell of pipes, sockets and what lay in memory: nobody waits for a disk there
    const moved = sumOf(metric, 'read_bytes', 'write_bytes') ?? sumOf(metric, 'rchar', 'wchar');
    if (moved === undefined) silent++;
    else bytes += moved;
    const waitedFor = metric('majflt');
    faults = faults === undefined || waitedFor === undefined ? undefined : faults + waitedFor;
  }
  const work: ProcessWork = {};
  if (waited + ran > 0 && ran >= MOST_OF_TIME * ranOfAll) work.waited = waited;
  if (processCount > 0 && silent === 0) work.io_bytes = bytes;
  if (processCount > 0 && faults !== undefined) work.major_faults = faults;
  return work;
}

/** What the job's own processes did, added up, by the names of records. */
export interface JobWork {
  sums: Map<ProcessMetric, number>;
  /** Processes that are not in all of the sums. */
  missing: number;
}

const SUMMED = [
  ...(['usertime', 'systemtime', 'time_waiting'] as const),
  ...(['rchar', 'wchar', 'syscr', 'syscw', 'read_bytes', 'write_bytes'] as const),
  ...(['minflt', 'majflt', 'vol_ctxsw', 'invol_ctxsw'] as const),
] satisfies ProcessMetric[];

/** undefined: nothing is known of its processes. */
export function jobWork(material: Material): JobWork | undefined {
  const sums = new Map<ProcessMetric, number>();
  let [missing, processCount] = [0, 0];
  for (const node of material.nodes)
    for (const [, metric] of processesOn(material, node)) {
      processCount++;
      let isWhole = true;
      for (const name of SUMMED) {
        const value = metric(name);
        if (value !== undefined) sums.set(name, (sums.get(name) ?? 0) + value);
        else if (name === 'rchar' || name === 'usertime') isWhole = false;
      }
      if (!isWhole) missing++;
    }
  return processCount === 0 || sums.size === 0 ? undefined : { sums, missing };
}

/** Bytes that the job's processes on a node sent to storage, as far as they tell. */
export function storedBytes(material: Material, node: NodeMaterial): number {
  let bytes = 0;
  for (const [, metric] of processesOn(material, node)) bytes += metric('write_bytes') ?? 0;
  return bytes;
}

function sumOf(metric: Metric, ...names: ProcessMetric[]): number | undefined {
  const values = names.map(metric);
  return values.includes(undefined) ? undefined : values.reduce<number>((sum, value) => sum + value!, 0);
}

/** Of the whole job as its processes tell it themselves, else as they were sampled. */
function* processesOn(material: Material, node: NodeMaterial): Generator<[cpu: number, metric: Metric]> {
  const { processes } = material;
  if (processes !== undefined) {
    for (let i = 0; i < processes.length; i++) {
      if (processes.node[i] !== node.node) continue;
      yield [(processes.cpu_time[i]! || 0) / 1e6, (name) => ifFinite(processes.metrics.get(name)?.[i])];
    }
    return;
  }
  for (const series of processSeries(node)) {
    const older = isEarlier(material, node, series);
    yield [
      processCpuSeconds(material, node, series) ?? 0,
      (name) => {
        const [column, factor] = SAMPLED.get(name) ?? [];
        if (column === undefined) return undefined;
        const values = series.columns[column];
        return values && ifFinite((counted(values, older) ?? Number.NaN) * factor!);
      },
    ];
  }
}

/** Processes with this share of the work decide where the work may run: a script that only waits does not. */
const DECIDING = 0.9;

/** On how many CPUs the main threads of the processes that work may run; undefined where they were not all asked. */
export function allowedCpusOf(material: Material, node: NodeMaterial): number | undefined {
  const each = processSeries(node).map((series) => ({ work: workOf(material, node, series), series }));
  const all = each.reduce((sum, { work }) => sum + work, 0);
  if (all === 0) return undefined;
  const cpus = new Set<number>();
  let allowedWork = 0;
  for (const { work, series } of each.toSorted((a, b) => b.work - a.work)) {
    const list = series.texts.allowed_cpus;
    if (list === undefined || countList(list) === 0) return undefined;
    for (const cpu of cpusIn(list)) cpus.add(cpu);
    allowedWork += work;
    if (allowedWork >= DECIDING * all) break;
  }
  return cpus.size;
}

const workOf = (material: Material, node: NodeMaterial, series: ProcessSeries): number =>
  (processCpuSeconds(material, node, series) ?? 0) + (series.columns.wait_ms?.last ?? 0) / 1000;

/** More CPUs than this no machine has: a list that names them is none. */
const MOST_CPUS = 65_536;

/** The CPUs of a list as the kernel writes it: `0-3,8`. */
export function* cpusIn(list: string): Generator<number> {
  for (const [, from, to] of list.matchAll(/(\d+)(?:-(\d+))?/g)) {
    const last = Math.min(Number(to ?? from), MOST_CPUS);
    for (let cpu = Number(from); cpu <= last; cpu++) yield cpu;
  }
}
