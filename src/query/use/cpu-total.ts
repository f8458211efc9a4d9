import { KILLED } from '../../recording/folder/agent-record.ts';
import { processInterval } from '../../recording/read/process-part.ts';
import type { Figures } from '../../recording/sealed/statistics.ts';
import { cgroupTable, cpuTable, processEndTable, processTable, processTotalTable } from '../../sources/tables.ts';
import {
  columnOf,
  ifFinite,
  largest,
  type Material,
  type NodeMaterial,
  type ProcessSeries,
  seriesOf,
  sum,
} from '../material.ts';
import { processCpuSeconds, processSeries } from '../processes/sampled.ts';
import { isExact } from '../processes/set.ts';
import { sumOf, total } from './curve.ts';
import { agentSeconds, commandsCurve, ownEnds, ownSeconds, RUN_REST_SECONDS, runSeconds, without } from './own-cpu.ts';
import { reapedCurves, sampledOfStatistics } from './reaped.ts';

/** Who counted, from the most exact to the least. */
export const CPU_SOURCES = ['wait4', 'cgroup', 'records', 'records and samples', 'processes', 'node'] as const;
export type CpuSource = (typeof CPU_SOURCES)[number];

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
export function cgroupOf(node: NodeMaterial, column: CgroupColumn): Figures | undefined {
  if (!hasOwnCgroup(node)) return undefined;
  return columnOf(node, column, { cgroup: '.' });
}

/** A column of the cgroup that the job runs in, its own or not: its limits hold for the job. */
export function cgroupAround(node: NodeMaterial, column: CgroupColumn): Figures | undefined {
  return columnOf(node, column, { cgroup: '.' });
}

/** The CPU time of the whole job on one node, from the best source there is. */
export function wholeCpu(material: Material, node: NodeMaterial): CpuUse | undefined {
  const counts: CpuUse[] = [];
  const recorded = recordedCpu(material, node);
  const sampled = processSeries(node);
  const added = sum(sampled.map((series) => processCpuSeconds(material, node, series)));
  const sampledSeconds = added === 0 && areSeenOnce(material, node, sampled) ? undefined : added;
  const least = recorded?.seconds ?? sampledSeconds ?? 0;
  const ends = recorded === undefined || recorded.source === 'processes' ? 0 : ownEnds(material, node);
  const exact = wait4Of(material, node, least, ends);
  const usage = cgroupOf(node, cgroupTable.col.usage_us);
  const increase = ifFinite(usage?.increase);
  if (increase !== undefined) {
    const whole = hasWholeCgroup(material, node, usage!);
    const grown = increase + (whole ? usage!.first : 0);
    const run = runSeconds(material, node);
    const own = ownSeconds(material, node) + agentSeconds(node) + run;
    const floor = run > 0 ? Math.max(least, exact?.seconds ?? 0) : least;
    const unnoted = ends + (run > 0 ? RUN_REST_SECONDS : 0);
    const use: CpuUse = { seconds: without(own, grown / 1e6, floor, unnoted), source: 'cgroup' };
    if (node.agent?.service === true && !whole) use.sampled_only = true;
    const most = ifFinite(usage?.rate?.max);
    if (most !== undefined) use.rate_max = most / 1e6;
    counts.push(use);
  }
  // where no process recorded itself
  const isSampled = recorded === undefined || recorded.source === 'processes';
  const reaped = isSampled ? reapedSeconds(material, node, sampled) : 0;
  if (recorded !== undefined) counts.push({ ...recorded, seconds: recorded.seconds + reaped });
  const addedUp = processTotal(material, node);
  const sampledOnly = sampledSeconds === undefined && reaped === 0 ? undefined : (sampledSeconds ?? 0) + reaped;
  const processes = addedUp ?? sampledOnly ?? (hadNoProcesses(material, node) ? 0 : undefined);
  // the sum in a store does not tell which of them were recorded to their end
  const { written = [], not_stored = [] } = node.agent ?? {};
  const isMixed = addedUp !== undefined && [...written, ...not_stored].includes(processEndTable.name);
  if (processes !== undefined)
    counts.push({ seconds: processes, source: isMixed ? 'records and samples' : 'processes' });
  const byProcesses = addedUp === undefined ? recorded : counts.at(-1);
  if (node.agent?.scope.members === 'node') {
    const busy = ifFinite(columnOf(node, cpuTable.col.busy_ms, { cpu: 'all' })?.increase);
    if (busy !== undefined) counts.push({ seconds: busy / 1000, source: 'node' });
  }
  const best = moreOf(counts[0], byProcesses);
  if (exact === undefined) return best;
  // of several nodes, what the command started on its own by srun is no child of it either
  if (material.job.nodes.length > 1) return best !== undefined && best.seconds > exact.seconds ? best : exact;
  // work that was launched elsewhere (srun, a daemon) is in records and samples, but the command never waited for it
  const all = counts.filter(({ source }) => source !== 'node');
  const many = exact.seconds * 0.1 + 1;
  const launched =
    all.some(({ seconds }) => seconds > exact.seconds + many) ||
    least > spentOf(material) + Math.min(many, (1 + coarselyTold(material, sampled.length)) * CLOCK_TICK);
  const more = launched ? all.find(({ seconds }) => seconds > exact.seconds) : undefined;
  if (more !== undefined) return moreOf(more, byProcesses);
  return best?.rate_max === undefined ? exact : { ...exact, rate_max: best.rate_max };
}

/** What children used that samples do not have, by what those say who waited for them; not what Tacho's own commands did. */
function reapedSeconds(material: Material, node: NodeMaterial, sampled: readonly ProcessSeries[]): number {
  const curves = reapedCurves(material, node, sampledOfStatistics(sampled));
  const all = sumOf(curves);
  if (all === undefined) return 0;
  // those that were over before the first sample, or not before the last, are not in it
  const noted = commandsCurve(material, node, 'over');
  const own = noted === undefined ? ownSeconds(material, node) : (noted.at(all.to) - noted.at(all.from)) / 1e6;
  return Math.max(0, total(all) / 1e6 - own);
}

/** Whether every process was gone at the sample after its first: then nobody knows what any of them used. */
function areSeenOnce({ job }: Material, { agent }: NodeMaterial, sampled: readonly ProcessSeries[]): boolean {
  const interval = processInterval(agent, job);
  return sampled.length > 0 && sampled.every(({ start, end }) => end - start < 1.5e6 * interval);
}

/** Where a store leaves out short processes: what the agent added up, in seconds. */
function processTotal(material: Material, node: NodeMaterial): number | undefined {
  const { leftOut } = material;
  const cpu = leftOut === undefined ? undefined : columnOf(node, processTotalTable.col.cpu_us);
  const grown = ifFinite(cpu?.increase);
  if (cpu?.max === 0 && (isUnseen(material, node) || cameAfter(material, node))) return undefined;
  return grown === undefined ? undefined : (grown + cpu!.first) / 1e6;
}

/** Whether what a cgroup had counted before its first sample is the job's, too: it was made with the job. */
export function hasWholeCgroup({ job }: Material, node: NodeMaterial, usage: Figures): boolean {
  const { agent } = node;
  if (agent?.service !== true || agent.scope.cgroup_older === true) return false;
  if (!job.restart) return true;
  // the run before may have left its cgroup behind: then it holds more than this one can have used so far
  const began = seriesOf(node, cgroupTable, { cgroup: '.' })[0]!.start;
  return usage.first <= (began - job.start) * agent.facts.cpus;
}

/** A cgroup may be gone before its last sample, or be there after the first processes: then these tell more. */
function moreOf(best: CpuUse | undefined, reportedUse: CpuUse | undefined): CpuUse | undefined {
  if (best?.source !== 'cgroup' || !((reportedUse?.seconds ?? 0) > best.seconds * 1.01)) return best;
  return best.rate_max === undefined ? reportedUse : { ...reportedUse!, rate_max: best.rate_max };
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

/** Whether processes were looked for on this node in every tick, and the job had none there. */
function hadNoProcesses(material: Material, nodeMaterial: NodeMaterial): boolean {
  const { node, agent, tables } = nodeMaterial;
  const { job, unread = [], leftOut } = material;
  if (agent === undefined || agent.ticks === 0 || agent.scope.members === 'node') return false;
  // a store leaves out small ones
  if (leftOut !== undefined) return false;
  if (cameAfter(material, nodeMaterial)) return false;
  // somebody told the agent of the job, and there is no scheduler whose variable its processes would have
  if ((agent.service === true && job.scheduler === 'none') || isUnseen(material, nodeMaterial)) return false;
  const sought = agent.tables.some((table) => table.name === processTable.name);
  const lost = unread.flatMap((u) => (u.node === node ? u.table : []));
  const failed = [...agent.unmeasured.map((note) => note.table), ...lost];
  if (!sought || failed.includes(processTable.name) || (hasOwnCgroup(nodeMaterial) && lost.includes(cgroupTable.name)))
    return false;
  // an agent that died may have written rows which its last record does not know of
  const newest = largest([...tables.values()].map(({ end }) => end));
  if (agent.end === undefined && job.end !== undefined && newest! > agent.last_sample!) return false;
  return !tables.has(processTable.name);
}

/** Kernels tell the CPU time of a process in steps of this, in seconds. */
const CLOCK_TICK = 0.01;

/** Processes whose CPU time is known in such steps: what was recorded at an end is as exact as wait4, and never more. */
function coarselyTold({ processes }: Material, sampled: number): number {
  return processes?.source.filter((source) => source === 'sample' || source === 'start').length ?? sampled;
}

/** From process records, and from samples for those that left none. */
function recordedCpu(material: Material, nodeMaterial: NodeMaterial): CpuUse | undefined {
  const { processes, job } = material;
  const { node, agent } = nodeMaterial;
  if (processes === undefined) return undefined;
  let spent: number | undefined;
  let whole = 0;
  let partly = 0;
  for (let i = 0; i < processes.length; i++) {
    if (processes.node[i] !== node) continue;
    const used = processes.cpu_time[i]!;
    if (!Number.isNaN(used)) spent = (spent ?? 0) + used / 1e6;
    if (isExact(processes, i)) whole++;
    // a shell that only waited adds nothing; what one used that became another program is in the numbers of that
    else if (used > 0 || Number.isNaN(processes.end[i]!) || (processes.source[i] === 'sample' && Number.isNaN(used)))
      partly++;
  }
  if (spent === undefined) return undefined;
  if (spent === 0 && whole === 0 && areSeenOnce(material, nodeMaterial, processSeries(nodeMaterial))) return undefined;
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
  if (usage === undefined || usage.elsewhere) return undefined;
  if (nodes.length > 1 && run_use?.node !== node.node) return undefined;
  return {
    seconds: without(ownSeconds(material, node), spentOf(material), least, ends),
    source: 'wait4',
    window_seconds: usage.wall_seconds,
  };
}
