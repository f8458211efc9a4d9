import { formatDuration } from '../../../base/duration.ts';
import { cpusFigure, figure, listed, percent } from '../../../base/readable.ts';
import { cpuTable, processEndTable, processTable } from '../../../sources/tables.ts';
import type { Evidence, Facts, NodeReport } from '../../report-schema.ts';
import { measuredSeconds } from '../../use/recorded-time.ts';
import { named } from './rule.ts';

/** Whether the job's threads waited for CPUs, and who had them. */

/** Limits of rules that look at waiting: they are among the thresholds of each. */
export const HELD_UP = {
  /** Share of busy CPUs from which they count as fully used. */
  full: 0.9,
  /** Share of the time in which threads were ready to run but had no CPU. */
  pressure: 0.25,
  /** CPUs that threads waited for on average (or the share that others used), below which nothing was delayed. */
  waited_cpus: 0.1,
  /** Share of its CPUs that the job used or waited for, from which it needed them. */
  wanted: 0.5,
  /** CPUs used on average, below which the job needed none: what waits in its cgroup may be Tacho. */
  had: 0.02,
};

export const WAITING = {
  ...HELD_UP,
  /** Share of the periods in which the CPU quota of the cgroup ran out. */
  throttled: 0.05,
  /** CPUs that bound threads used or waited for, as a multiple of the CPUs that they are bound to. */
  beyond_bound: 1.1,
  /** Share of the CPUs that they are bound to that these threads used. */
  bound_used: 0.5,
  /** Its own threads are the reason when they lacked this multiple of the CPUs that others used. */
  own_crowd: 2,
};

type Limits<K extends keyof typeof WAITING = keyof typeof WAITING> = Pick<typeof WAITING, K>;

/** Of the time in which its threads wanted a CPU, the share in which they had none. */
export function waitedShare({ cpu_wait_seconds: waited, cpu_seconds: ran }: NodeReport): number | undefined {
  return waited === undefined || ran === undefined || waited + ran === 0 ? undefined : waited / (waited + ran);
}

/** CPUs that the job's threads wanted on a node, on average: those that they had, and those that they waited for. */
export function wantedOn(n: NodeReport): number | undefined {
  const seconds = measuredSeconds(n) ?? 0;
  if (n.cpu_utilization === undefined || n.cpus === undefined || !(seconds > 0)) return undefined;
  const busy = n.cpu_utilization * n.cpus;
  return n.cpu_wait_seconds === undefined ? busy : busy + n.cpu_wait_seconds / seconds;
}

/** The same of the job; undefined where no process tells of waiting. */
export function wantedCpus({ nodes }: Facts): number | undefined {
  if (nodes.every((n) => n.cpu_wait_seconds === undefined)) return undefined;
  return nodes.reduce((sum, n) => sum + (wantedOn(n) ?? 0), 0);
}

/** Whether the job's own threads waited for CPUs while it did not have all of them. */
export function hasWaited(n: NodeReport, limits: Limits<'full' | 'pressure' | 'waited_cpus'>): boolean {
  if (n.cpu_utilization === undefined || n.cpu_utilization >= limits.full) return false;
  const share = waitedShare(n);
  if (share === undefined) return n.pressure_scope === 'job' && (n.pressure_cpu ?? 0) >= limits.pressure;
  return share >= limits.pressure && n.cpu_wait_seconds! >= limits.waited_cpus * (measuredSeconds(n) ?? 0);
}

/** Whether it waited so, and wanted its CPUs most of the time; of the machine's, which nobody asked for, one. */
export function isHeldUp(n: NodeReport, limits: typeof HELD_UP): boolean {
  if (!hasWaited(n, limits)) return false;
  if (n.cpu_wait_seconds === undefined) return busyOn(n) >= limits.had && busyOn(n) + n.pressure_cpu! >= limits.wanted;
  return wantedOn(n)! >= limits.wanted * (n.cpus_source === 'machine' ? 1 : n.cpus!);
}

/** Whether its threads may run on fewer CPUs than it has and than they wanted, and used those. */
export const isBound = (n: NodeReport, limits: Limits<'beyond_bound' | 'bound_used'>): boolean =>
  n.allowed_cpus !== undefined &&
  wantedOn(n)! > limits.beyond_bound * n.allowed_cpus &&
  busyOn(n) >= limits.bound_used * n.allowed_cpus;

export const busyOn = (n: NodeReport): number => n.cpu_utilization! * n.cpus!;

/** Whether its waiting follows from its own threads: they wanted more CPUs than it has, by far more than others took of these. */
export function isOwnCrowd(n: NodeReport, { own_crowd }: Limits<'own_crowd'>): boolean {
  const wanted = wantedOn(n);
  if (wanted === undefined || n.cpu_wait_seconds === undefined) return false;
  return wanted - n.cpus! > own_crowd * (n.cpus! - busyOn(n));
}

/** By the quota of its cgroup, which has a rule of its own. */
export const isThrottled = (n: NodeReport, { throttled }: Limits<'throttled'>): boolean =>
  (n.cpu_throttled ?? 0) > throttled;

/** CPUs of the node that others kept busy. */
function othersOn(n: NodeReport): number | undefined {
  if (n.node_cpu_utilization === undefined || n.node_cpus === undefined) return undefined;
  return Math.max(0, n.node_cpu_utilization * n.node_cpus - busyOn(n));
}

/** Whether others used next to none of its CPUs: what waited, waited for other threads of the job. */
export function isUndisturbed(n: NodeReport, { waited_cpus }: Limits<'waited_cpus'>): boolean {
  const others = othersOn(n);
  return others !== undefined && others < waited_cpus * n.cpus!;
}

/** Whether others left no CPU of the node free. */
export function isFullOfOthers(n: NodeReport, { full, waited_cpus }: Limits<'full' | 'waited_cpus'>): boolean {
  return (n.node_cpu_utilization ?? 0) >= full && (othersOn(n) ?? 0) >= waited_cpus * n.node_cpus!;
}

/** Whether CPUs of the job that stood idle may have been taken by others: nobody knows whether it waited for them. */
export const isMaybeStarved = ({ nodes }: Facts, limits: Limits<'full' | 'waited_cpus'>): boolean =>
  nodes.some((n) => n.cpu_utilization !== undefined && !hasWaitRecord(n) && isFullOfOthers(n, limits));

/** Whether it is known how long the job's threads waited for CPUs. */
export const hasWaitRecord = (n: NodeReport): boolean =>
  n.cpu_wait_seconds !== undefined || (n.pressure_scope === 'job' && n.pressure_cpu !== undefined);

/** How long the threads of a node waited. */
export function waitEvidence(n: NodeReport, { pressure: threshold }: Limits<'pressure'>): Evidence {
  const waited = waitedShare(n);
  if (waited === undefined)
    return {
      text: `${n.node}: its threads waited for a CPU ${percent(n.pressure_cpu)} of the time`,
      from: 'cgroup (stalled)',
      node: n.node,
      value: n.pressure_cpu!,
      threshold,
    };
  return {
    text: `${n.node}: threads ran for ${formatDuration(n.cpu_seconds!)} and waited for a CPU for ${formatDuration(n.cpu_wait_seconds!)}`,
    from: named(processEndTable.col.time_waiting, processTable.col.wait_ms),
    node: n.node,
    value: waited,
    threshold,
  };
}

/** How busy the node was, with others' work too. */
export const othersEvidence = (n: NodeReport, { full }: Limits<'full'>): Evidence[] =>
  n.node_cpu_utilization === undefined
    ? []
    : [
        {
          text: `${n.node}: ${percent(n.node_cpu_utilization)} of its CPUs busy, ${cpusFigure(othersOn(n) ?? 0)} of ${figure(n.node_cpus)} with others’ work`,
          from: named(cpuTable.col.busy_ms),
          node: n.node,
          value: n.node_cpu_utilization,
          threshold: full,
        },
      ];

/** Who the others were: jobs that the node's own agent knows, and programs that /proc shows. */
export const neighbourEvidence = ({ node, shared_with = [], neighbours = [] }: NodeReport): Evidence[] => [
  ...(shared_with.length === 0
    ? []
    : [{ text: `${node}: shared with ${listed(shared_with, 6)} meanwhile`, from: 'agent.json', node }]),
  ...(neighbours.length === 0
    ? []
    : [
        {
          text: `${node}: most CPU time of others: ${listed(
            neighbours.map((one) => `${neighbourName(one)} ${formatDuration(one.cpu_seconds)}`),
            5,
          )}`,
          from: 'agent.json',
          node,
          value: neighbours[0]!.cpu_seconds,
        },
      ]),
];

export const neighbourName = ({ user, program }: { user: string; program: string }): string => `${program} (${user})`;

export const SERIAL = {
  /** CPUs used or waited for on average from which a program may be serial. */
  from: 0.85,
  /** CPUs busy on average up to which a program may be serial. */
  to: 1.05,
  /** CPUs busy on average from which a program that also waited for its CPU may be serial. */
  least_busy: 0.7,
  /** CPUs used or waited for on average below which a program may be serial. */
  serial_wanted: 1.5,
  full: HELD_UP.full,
  waited_cpus: HELD_UP.waited_cpus,
  pressure: HELD_UP.pressure,
  beyond_bound: WAITING.beyond_bound,
  bound_used: WAITING.bound_used,
};

export function isSerial(facts: Facts, limits: typeof SERIAL): boolean {
  const { cpus_busy, cpus, nodes } = facts.summary;
  if (nodes !== 1 || cpus! < 2 || (wantedCpus(facts) ?? 1) >= limits.serial_wanted) return false;
  if (facts.nodes.some((n) => n.cpu_wait_seconds !== undefined && hasWaited(n, limits) && isBound(n, limits)))
    return false;
  if (isMaybeStarved(facts, limits) || cpus_busy! < limits.least_busy || cpus_busy! > limits.to) return false;
  return Math.max(cpus_busy!, wantedCpus(facts) ?? 0) >= limits.from;
}

/** GPU jobs need CPUs to feed their cards: low CPU use alone is no waste there. */
export const isGpuJob = ({ summary }: Facts): boolean => (summary.gpus ?? 0) > 0;
