import { intersect, lengthOf } from '../../base/intervals.ts';
import { cgroupTable, cpuTable, processTotalTable } from '../../sources/tables.ts';
import { columnOf, ifFinite, largest, type Material, type NodeMaterial, wholeOf } from '../material.ts';
import { recordedOn } from '../processes/on-node.ts';
import { intervalsOf } from '../spans/select.ts';
import { cpusOn } from './allocation.ts';
import { type CpuUse, cgroupOf, hasOwnCgroup, hasWholeCgroup, wholeCpu } from './cpu-total.ts';
import {
  type Curve,
  even,
  inside,
  minus,
  over,
  preceded,
  refined,
  scaled,
  shareOf,
  sumOf,
  times,
  total,
} from './curve.ts';
import { agentCurve, commandsCurve } from './own-cpu.ts';
import { type PartProcesses, partProcessesOf, partSpans } from './part-processes.ts';
import { processCurves, sampledOn, tailsOf, ticksOf } from './process-cpu.ts';
import { reapedCurves } from './reaped.ts';
import { type Counter, countersOf } from './samples.ts';

/** The CPU time of the job on one node: of all of it, or of the part that is looked at. */
export function cpuOf(material: Material, node: NodeMaterial): CpuUse | undefined {
  return material.range === undefined ? wholeCpu(material, node) : partCpu(material, node);
}

function partCpu(material: Material, node: NodeMaterial): CpuUse | undefined {
  const { job, range, now } = material;
  const end = job.end ?? now;
  const spans = partSpans(material);
  const asked = intersect(intervalsOf(range), [[job.start, Math.max(job.start, end)]]);
  const window_seconds = lengthOf(asked) / 1e6;
  // what other steps did meanwhile is in every other count
  const ofStep = range!.step === undefined ? undefined : partProcessesOf(material, node);
  if (ofStep !== undefined && ofStep.measured > 0) return processesUse(ofStep, ofStep.seconds, window_seconds);
  const grown = cpuCurve(wholeOf(material), node);
  const used = grown && over(grown.curve, spans);
  if (used === undefined) return undefined;
  const seconds = used.amount / 1e6;
  const looked = over(grown!.curve, asked);
  switch (grown!.by) {
    case 'cgroup': {
      const most = ifFinite(cgroupOf(node, cgroupTable.col.usage_us)?.rate?.max);
      if (looked === undefined) return undefined;
      return {
        seconds,
        source: 'cgroup',
        window_seconds: looked.seconds,
        ...(most === undefined ? {} : { rate_max: most / 1e6 }),
      };
    }
    case 'processes': {
      const byProcesses = ofStep ?? partProcessesOf(material, node);
      // some lived in it of which nobody knows anything, or nobody looked
      if (byProcesses.measured === 0 && (byProcesses.count > 0 || !isSampled(node))) return undefined;
      return processesUse(byProcesses, seconds, looked?.seconds ?? window_seconds);
    }
    default:
      return { seconds, source: grown!.whole.source };
  }
}

/** What processes used, and how exactly that is known. */
function processesUse({ isRecorded, isExact }: PartProcesses, seconds: number, window_seconds: number): CpuUse {
  if (!isRecorded) return { seconds, source: 'processes' };
  return { seconds, source: isExact ? 'records' : 'records and samples', window_seconds };
}

/** Whether anything was sampled in the part. */
const isSampled = ({ tables }: NodeMaterial): boolean => [...tables.values()].some(({ rows }) => rows > 0);

/** How the CPU time of the whole job grew on a node, in microseconds, and what that is drawn from. */
interface CpuCurve {
  whole: CpuUse;
  by: 'cgroup' | 'processes' | 'process totals' | 'node';
  curve: Curve;
}

/** Drawn once for all parts of a job, by node. */
const drawn = new WeakMap<Material, Map<string, CpuCurve | undefined>>();

export function cpuCurve(whole: Material, { node: name }: NodeMaterial): CpuCurve | undefined {
  const byNode = drawn.get(whole) ?? new Map<string, CpuCurve | undefined>();
  drawn.set(whole, byNode);
  if (!byNode.has(name)) {
    const node = whole.nodes.find((one) => one.node === name);
    const use = node && wholeCpu(whole, node);
    byNode.set(name, use && draw(whole, node!, use));
  }
  return byNode.get(name);
}

/** From who counted best; it ends with what the card of the whole job says. */
function draw(material: Material, node: NodeMaterial, whole: CpuUse): CpuCurve | undefined {
  const wanted = whole.seconds * 1e6;
  const inCgroup = hasOwnCgroup(node)
    ? countersOf(material, node, cgroupTable.col.usage_us, { cgroup: '.' })[0]?.counter()
    : undefined;
  const isCounted = whole.source === 'cgroup' || whole.source === 'wait4';
  if (inCgroup !== undefined && isCounted)
    return { whole, by: 'cgroup', curve: scaled(cgroupCurve(material, node, inCgroup), wanted) };
  if (whole.source === 'node') {
    const busy = countersOf(material, node, cpuTable.col.busy_ms, { cpu: 'all' })[0]?.counter();
    return busy && { whole, by: 'node', curve: scaled(busy.curve, wanted) };
  }
  const { cpu_us } = processTotalTable.col;
  const totals = material.leftOut === undefined ? undefined : countersOf(material, node, cpu_us)[0]?.counter();
  if (totals === undefined) {
    const all = processesCurve(material, node, wanted);
    const curve = inCgroup === undefined ? all : inside(all, cgroupCurve(material, node, inCgroup), inCgroup.moments);
    return { whole, by: 'processes', curve };
  }
  const { job } = material;
  const all = preceded(totals.curve, job.start, columnOf(node, cpu_us)!.first);
  // what processes told at their end may be of earlier: the cgroup knows better, as long as it was there
  const better = inCgroup && cgroupCurve(material, node, inCgroup);
  const curve = better === undefined ? all : sumOf([better, minus(all, better, totals.moments)])!;
  return { whole, by: 'process totals', curve: scaled(curve, wanted) };
}

/** More moments than this say no more of how the shares of programs and kernel changed. */
const SHARE_MOMENTS = 256;

/** What was used in programs, the rest being the kernel's: the two are all of it in any span. */
export function userCurve(whole: Material, node: NodeMaterial): Curve | undefined {
  const all = cpuCurve(whole, node)?.curve;
  const { user_us, system_us } = cgroupTable.col;
  const [cgroup] = hasOwnCgroup(node) ? countersOf(whole, node, user_us, { cgroup: '.' }) : [];
  const [user, system] = [cgroup?.counter(), cgroup?.counter(system_us)];
  if (all === undefined) return undefined;
  if (user !== undefined && system !== undefined) return shareOf(all, user.curve, system.curve, user.moments);
  const { user_seconds = Number.NaN, system_seconds = 0 } = whole.job.usage ?? {};
  const usual = user_seconds / (user_seconds + system_seconds);
  const curvesInUser = processCurves(whole, node).filter(({ inUser }) => !Number.isNaN(inUser));
  if (curvesInUser.length === 0) return Number.isNaN(usual) ? undefined : times(all, usual);
  const ends = curvesInUser.map(({ to }) => to).sort((a, b) => a - b);
  const moments = ends.filter((_, i) => i % Math.ceil(ends.length / SHARE_MOMENTS) === 0);
  const share = (of: (inUser: number) => number): Curve =>
    sumOf(curvesInUser.map((one) => times(one, of(one.inUser))))!;
  return shareOf(
    all,
    share((user) => user),
    share((user) => 1 - user),
    moments,
  );
}

/** What the job's own cgroup counted, without what Tacho used in it, and between two samples as its processes used it. */
function cgroupCurve(material: Material, node: NodeMaterial, { curve, moments }: Counter): Curve {
  const { job } = material;
  const usage = cgroupOf(node, cgroupTable.col.usage_us)!;
  const all = hasWholeCgroup(material, node, usage) ? preceded(curve, job.start, usage.first) : curve;
  const own = sumOf([commandsCurve(material, node), agentCurve(material, node)].filter((each) => each !== undefined));
  const jobs = own === undefined ? all : minus(all, own, moments);
  const processes = sumOf(processCurves(material, node).filter(({ isUnknown }) => !isUnknown));
  const cpus = cpusOn(material, node)?.value ?? node.agent?.facts.cpus;
  return processes === undefined || cpus === undefined ? jobs : refined(jobs, moments, processes, cpus);
}

/**
 * What processes recorded and were sampled to use. What nobody saw of it (wait4 counted it, or the process that waited for its
 * end) is there when it was waited for, then where processes were sampled last, as much as fits there, and the rest evenly.
 */
function processesCurve(material: Material, node: NodeMaterial, wanted: number): Curve {
  const curve = sumOfProcesses(material, node, wanted);
  const ticks = ticksOf(material, node);
  // each of them is written when something changed: all of them are looked at in each tick
  return ticks.length > 0 ? { ...curve, moments: ticks } : curve;
}

function sumOfProcesses(material: Material, node: NodeMaterial, wanted: number): Curve {
  const { job, processes: set } = material;
  const processes = processCurves(material, node).filter(({ isUnknown }) => !isUnknown);
  const until = heardUntil(material, node);
  const curves: Curve[] = [even(job.start, until, 0), ...processes];
  const sampled = sampledOn(material, node);
  if (set === undefined || recordedOn(set, node.node).length === 0) {
    const reaped = sumOf(reapedCurves(material, node, sampled));
    // whoever waits for a command has its time when that is over
    const own = commandsCurve(material, node, 'over');
    const moments = [...new Set(sampled.flatMap(({ times }) => times))].sort((a, b) => a - b);
    if (reaped !== undefined) curves.push(own === undefined ? reaped : minus(reaped, own, moments));
  }
  const sampledTotal = total(sumOf(curves)!);
  if (sampledTotal >= wanted) return scaled(sumOf(curves)!, wanted);
  const tails = sumOf(tailsOf(processes));
  const atTails = tails === undefined ? 0 : Math.min(wanted - sampledTotal, total(tails));
  if (atTails > 0) curves.push(scaled(tails!, atTails));
  curves.push(even(job.start, until, wanted - sampledTotal - atTails));
  return sumOf(curves)!;
}

/** The end of the job, or when its node fell silent: nobody knows what processes used after that. */
function heardUntil({ job, now }: Material, { agent, tables }: NodeMaterial): number {
  const end = job.end ?? now;
  if (agent === undefined || agent.end !== undefined) return end;
  return Math.min(end, largest([...tables.values()].map((table) => table.end)) ?? end);
}
