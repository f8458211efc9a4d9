import type { ProcessSet } from '../../query/processes/set.ts';
import { secondsIn } from '../../query/spans/select.ts';
import { KILLED } from '../../recording/folder/agent-record.ts';
import type { Statistics } from '../../recording/sealed/statistics.ts';
import { cgroupTable, cpuTable, processEndTable, processTable, processTotalTable } from '../../sources/tables.ts';
import {
  columnOf,
  known,
  largest,
  type Material,
  type NodeMaterial,
  type ProcessSeries,
  seriesOf,
  sum,
} from '../facts/material.ts';
import { processCpuSeconds, processSeries } from '../facts/processes.ts';
import type { CpuSource } from '../report-schema.ts';
import { agentSeconds, ownEnds, ownSeconds, RUN_REST_SECONDS, runSeconds, without } from './own-cpu.ts';
import { partCpuOf, tailsOf } from './part-cpu.ts';
import { livesInPart, toldInPart } from './part-lives.ts';

export interface CpuUse {
  seconds: number;
  source: CpuSource;
  /** The time that `seconds` was gathered in, when it is not the time that the node was recorded. */
  window_seconds?: number;
  /** What the job used before its first sample is not in it. */
  sampled_only?: true;
  /** CPUs busy between two ticks, at most. */
  rate_max?: number;
}

/** Whether the cgroup is the job's: made for it, and not the one that its shell or others already ran in. */
export function hasOwnCgroup(node: NodeMaterial): boolean {
  const scope = node.agent?.scope;
  return scope?.members === 'cgroup' && scope.cgroup_shared !== true;
}

type CgroupColumn = (typeof cgroupTable.col)[keyof typeof cgroupTable.col];

/** A column of the job's own cgroup. */
export function cgroupOf(node: NodeMaterial, column: CgroupColumn): Statistics | undefined {
  if (!hasOwnCgroup(node)) return undefined;
  return columnOf(node, column, { cgroup: '.' });
}

/** A column of the cgroup that the job runs in, its own or not: its limits hold for the job. */
export function cgroupAround(node: NodeMaterial, column: CgroupColumn): Statistics | undefined {
  return columnOf(node, column, { cgroup: '.' });
}

/** The job's CPU time on one node, from the best source there is. */
export function cpuOf(material: Material, node: NodeMaterial): CpuUse | undefined {
  const found: CpuUse[] = [];
  const recorded = recordedCpu(material, node) ?? partCpu(material, node);
  // the cgroup of the job has counted what its other steps did meanwhile, too, or not all that processes tell of
  const isOthers = material.range?.step !== undefined || (hasOwnCgroup(node) && hasGrowth(material, node));
  if (isOthers && recorded !== undefined) return recorded;
  const sampled = processSeries(node);
  const added = sum(sampled.map((series) => processCpuSeconds(material, node, series)));
  const seen = added === 0 && areSeenOnce(material, sampled) ? undefined : added;
  const least = recorded?.seconds ?? seen ?? 0;
  const ends = recorded === undefined || recorded.source === 'processes' ? 0 : ownEnds(material, node);
  const exact = wait4Of(material, node, least, ends);
  const usage = cgroupOf(node, cgroupTable.col.usage_us);
  const increase = known(usage?.increase);
  if (increase !== undefined) {
    const whole = hasWholeCgroup(material, node, usage!);
    const grown = increase + (whole ? usage!.first : 0);
    const run = runSeconds(material, node);
    const own = ownSeconds(material, node) + agentSeconds(node) + run;
    const floor = run > 0 ? Math.max(least, exact?.seconds ?? 0) : least;
    const unnoted = ends + (run > 0 ? RUN_REST_SECONDS : 0);
    const use: CpuUse = { seconds: without(own, grown / 1e6, floor, unnoted), source: 'cgroup' };
    // samples may begin or end within a part
    const series = seriesOf(node, cgroupTable, { cgroup: '.' })[0]!;
    if (material.range !== undefined)
      use.window_seconds = secondsIn(
        material.range,
        whole ? Math.min(material.job.start, series.start) : series.start,
        series.end,
      );
    else if (node.agent?.service === true && !whole) use.sampled_only = true;
    const most = known(usage?.rate?.max);
    if (most !== undefined) use.rate_max = most / 1e6;
    found.push(use);
  }
  if (recorded !== undefined) found.push(recorded);
  const total = addedUp(material, node);
  const processes = total ?? seen ?? (hadNoProcesses(material, node) ? 0 : undefined);
  // the sum in a store does not tell which of them were recorded to their end
  const { written = [], not_stored = [] } = node.agent ?? {};
  const isMixed = total !== undefined && [...written, ...not_stored].includes(processEndTable.name);
  if (processes !== undefined)
    found.push({ seconds: processes, source: isMixed ? 'records and samples' : 'processes' });
  // of a part, what processes told at their end may be of earlier
  const told = total === undefined || material.range !== undefined ? recorded : found.at(-1);
  if (node.agent?.scope.members === 'node') {
    const busy = columnOf(node, cpuTable.col.busy_ms, { cpu: 'all' });
    const grown = known(busy?.increase);
    if (grown !== undefined) found.push({ seconds: grown / 1000, source: 'node' });
  }
  const best = wholeOf(found[0], told);
  if (exact === undefined) return best;
  // of several nodes, what the command started on its own by srun is no child of it either
  if (material.job.nodes.length > 1) return best !== undefined && best.seconds > exact.seconds ? best : exact;
  // work that was launched elsewhere (srun, a daemon) is in records and samples, but the command never waited for it
  const all = found.filter(({ source }) => source !== 'node');
  const many = exact.seconds * 0.1 + 1;
  const launched =
    all.some(({ seconds }) => seconds > exact.seconds + many) ||
    least > spentOf(material) + Math.min(many, (1 + coarselyTold(material, sampled.length)) * CLOCK_TICK);
  const more = launched ? all.find(({ seconds }) => seconds > exact.seconds) : undefined;
  if (more !== undefined) return wholeOf(more, told);
  return best?.rate_max === undefined ? exact : { ...exact, rate_max: best.rate_max };
}

/** Whether every process was gone at the sample after its first: then nobody knows what any of them used. */
function areSeenOnce({ job }: Material, sampled: readonly ProcessSeries[]): boolean {
  return sampled.length > 0 && sampled.every(({ start, end }) => end - start < 1.5e6 * job.interval_seconds);
}

/** Where a store leaves out short processes: what the agent added up, in seconds. */
function addedUp(material: Material, node: NodeMaterial): number | undefined {
  const { leftOut, range } = material;
  const total = leftOut === undefined ? undefined : columnOf(node, processTotalTable.col.cpu_us);
  const grown = known(total?.increase);
  if (total?.max === 0 && (isUnseen(material, node) || cameAfter(material, node))) return undefined;
  return grown === undefined ? undefined : (grown + (range === undefined ? total!.first : 0)) / 1e6;
}

/** Whether what a cgroup had counted before its first sample is the job's, too: it was made with the job. */
function hasWholeCgroup({ job, range }: Material, node: NodeMaterial, usage: Statistics): boolean {
  const { agent } = node;
  const isLater = range?.from !== undefined && range.from > job.start;
  if (isLater || agent?.service !== true || agent.scope.cgroup_older === true) return false;
  if (!job.restart) return true;
  // the run before may have left its cgroup behind: then it holds more than this one can have used so far
  const began = seriesOf(node, cgroupTable, { cgroup: '.' })[0]!.start;
  return usage.first <= (began - job.start) * agent.facts.cpus;
}

/** A cgroup may be gone before its last sample, or be there after the first processes: then these tell more. */
function wholeOf(best: CpuUse | undefined, told: CpuUse | undefined): CpuUse | undefined {
  if (best?.source !== 'cgroup' || !((told?.seconds ?? 0) > best.seconds * 1.01)) return best;
  return best.rate_max === undefined ? told : { ...told!, rate_max: best.rate_max };
}

/**
 * Whether the job must have had processes that its agents did not find: they look for its id in the environment, and only
 * Slurm gives nodes to jobs that run nothing there.
 */
function isUnseen({ job, nodes }: Material, { agent }: NodeMaterial): boolean {
  if (agent?.service !== true || agent.scope.members !== 'environment' || job.scheduler === 'slurm') return false;
  return nodes.every((node) => {
    const none = (node.tables.get(processTable.name)?.rows ?? 0) === 0;
    return none && !((columnOf(node, processTotalTable.col.cpu_us)?.max ?? 0) > 0);
  });
}

/** Whether the agent came when all was over: then nobody knows. */
const cameAfter = ({ job }: Material, { agent }: NodeMaterial): boolean =>
  (agent?.first_sample ?? Number.NaN) > job.end!;

/** Whether processes were looked for on this node in every tick, and the job had none there, or in this part none that did anything. */
function hadNoProcesses(material: Material, seen: NodeMaterial): boolean {
  const { node, agent, tables } = seen;
  const { job, range, unread = [], leftOut } = material;
  if (agent === undefined || agent.ticks === 0 || agent.scope.members === 'node') return false;
  // a store leaves out small ones
  if (leftOut !== undefined) return false;
  if (cameAfter(material, seen)) return false;
  // somebody told the agent of the job, and there is no scheduler whose variable its processes would have
  if ((agent.service === true && job.scheduler === 'none') || isUnseen(material, seen)) return false;
  const sought = agent.tables.some((table) => table.name === processTable.name);
  const lost = unread.flatMap((u) => (u.node === node ? u.table : []));
  const failed = [...agent.unmeasured.map((note) => note.table), ...lost];
  if (!sought || failed.includes(processTable.name) || (hasOwnCgroup(seen) && lost.includes(cgroupTable.name)))
    return false;
  // an agent that died may have written rows which its last record does not know of
  const newest = largest([...tables.values()].map(({ end }) => end));
  if (agent.end === undefined && job.end !== undefined && newest! > agent.last_sample!) return false;
  if (range === undefined) return !tables.has(processTable.name);
  // a part without any sample says nothing
  const ticked = [...tables.values()].some(({ rows }) => rows > 0);
  return ticked && (tables.get(processTable.name)?.rows ?? 0) === 0;
}

/** Whether parts of the job have what its processes used there, as no cgroup has counted all of it. */
const hasGrowth = ({ range, sampledCpu }: Material, { node }: NodeMaterial): boolean =>
  range !== undefined && sampledCpu?.has(node) === true;

/** Of a part of the job: what its processes used in it, by their records and samples. */
function partCpu(material: Material, node: NodeMaterial): CpuUse | undefined {
  const { lives, range, job } = material;
  if (range === undefined) return undefined;
  const from = Math.max(range.from ?? job.start, job.start);
  const to = Math.min(range.to ?? Number.POSITIVE_INFINITY, job.end ?? material.now);
  const window_seconds = (to - from) / 1e6;
  const isUncounted = !hasOwnCgroup(node) || hasGrowth(material, node);
  if (range.step === undefined && isUncounted && (lives ?? material.sampledCpu) !== undefined) {
    const part = partCpuOf(material, node);
    if (part === undefined) return undefined;
    const source = !part.isTold ? 'processes' : part.isExact ? 'records' : 'records and samples';
    const unseen = lives === undefined ? unseenSeconds(material, node, from, to) : 0;
    return { seconds: part.seconds + unseen, source, ...(part.isTold ? { window_seconds } : {}) };
  }
  if (lives === undefined) return undefined;
  const places = livesInPart(material).filter((i) => lives.node[i] === node.node && lives.cpu_time[i]! >= 0);
  if (places.length === 0 && range.step === undefined) return undefined;
  const told = toldInPart(material, places);
  const others = processSeries(node).filter((series) => !told(node, series));
  const sampled = sum(others.map((series) => processCpuSeconds(material, node, series)));
  if (places.length === 0 && sampled === undefined) return undefined;
  const seconds = (sum(places.map((i) => lives.cpu_time[i]! / 1e6)) ?? 0) + (sampled ?? 0);
  const source = places.length === 0 ? 'processes' : (sampled ?? 0) > 0 ? 'records and samples' : 'records';
  return { seconds, source, window_seconds };
}

/**
 * What processes used after their last sample, or all of it where they came and went between two, is known of the whole job
 * alone, by wait4. Parts have it where processes were last seen, as much as fits there, and the rest by their time: so they
 * add up to the whole.
 */
function unseenSeconds(material: Material, node: NodeMaterial, from: number, to: number): number {
  const { usage, nodes, start, end } = material.job;
  if (usage === undefined || usage.elsewhere || nodes.length > 1 || end === undefined || !(end > start)) return 0;
  const whole = { ...material, range: { what: 'the whole job' } };
  const seen = partCpuOf(whole, node)?.seconds ?? 0;
  const { range: _, ...job } = material;
  const unseen = Math.max(0, spentOf(material) - ownSeconds(job, node) - seen);
  // the row that a process had gone may be of after the job's end
  const last = to >= end ? Number.POSITIVE_INFINITY : to;
  const tails = tailsOf(material, node);
  const expected = sum(tails.map((tail) => tail.expected / 1e6)) ?? 0;
  const inPart = sum(tails.map((tail) => (tail.expected / 1e6) * overlap(tail, from, last))) ?? 0;
  const atTails = Math.min(unseen, expected);
  return (
    (expected > 0 ? (atTails * inPart) / expected : 0) +
    (unseen - atTails) * overlap({ from: start, to: end }, from, to)
  );
}

/** How much of a stretch of time lies between two moments, from 0 to 1. */
function overlap(stretch: { from: number; to: number }, from: number, to: number): number {
  const inside = Math.min(stretch.to, to) - Math.max(stretch.from, from);
  return Math.max(0, inside) / (stretch.to - stretch.from);
}

/** Kernels tell the CPU time of a process in steps of this, in seconds. */
const CLOCK_TICK = 0.01;

/** Processes whose CPU time is known in such steps: what was recorded at an end is as exact as wait4, and never more. */
function coarselyTold({ processes }: Material, sampled: number): number {
  return processes?.source.filter((source) => source === 'sample' || source === 'start').length ?? sampled;
}

/** Whether nobody knows what a process used that left no record. */
const isUnknown = ({ source, cpu_time }: ProcessSet, i: number): boolean =>
  source[i] === 'sample' && Number.isNaN(cpu_time[i]!);

/** From process records, and from samples for those that left none. */
function recordedCpu(material: Material, seen: NodeMaterial): CpuUse | undefined {
  const { processes, job, range } = material;
  const { node, agent } = seen;
  // records are of whole lives
  if (processes === undefined || range !== undefined) return undefined;
  let spent: number | undefined;
  let whole = 0;
  let partly = 0;
  for (let i = 0; i < processes.length; i++) {
    if (processes.node[i] !== node) continue;
    const used = processes.cpu_time[i]!;
    const ended = processes.source[i] === 'record' || processes.source[i] === 'parent';
    if (!Number.isNaN(used)) spent = (spent ?? 0) + used / 1e6;
    if (ended) whole++;
    // a shell that only waited adds nothing; what one used that became another program is in the numbers of that
    else if (used > 0 || Number.isNaN(processes.end[i]!) || isUnknown(processes, i)) partly++;
  }
  if (spent === undefined) return undefined;
  if (spent === 0 && whole === 0 && areSeenOnce(material, processSeries(seen))) return undefined;
  const source = whole === 0 ? 'processes' : partly === 0 ? 'records' : 'records and samples';
  // what they recorded after their agent was killed, the next one has taken over
  const all = source === 'records' && agent?.end_reason === KILLED;
  const until = Math.min(job.end ?? Number.NaN, all ? Number.POSITIVE_INFINITY : (agent?.end ?? Number.NaN));
  // nobody knows what they used after the node fell silent
  const window = source === 'processes' || Number.isNaN(until) ? {} : { window_seconds: (until - job.start) / 1e6 };
  return { seconds: spent, source, ...window };
}

/** All that wait4 counted. */
const spentOf = ({ job: { usage } }: Material): number => (usage?.user_seconds ?? 0) + (usage?.system_seconds ?? 0);

function wait4Of(material: Material, node: NodeMaterial, least: number, ends: number): CpuUse | undefined {
  const { usage, nodes, run_use } = material.job;
  if (usage === undefined || usage.elsewhere || material.range !== undefined) return undefined;
  if (nodes.length > 1 && run_use?.node !== node.node) return undefined;
  return {
    seconds: without(ownSeconds(material, node), spentOf(material), least, ends),
    source: 'wait4',
    window_seconds: usage.wall_seconds,
  };
}
