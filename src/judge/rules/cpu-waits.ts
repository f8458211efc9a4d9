import { formatDuration } from '../../base/duration.ts';
import { count, cpusFigure, figure, listed, percent } from '../../base/words.ts';
import type { Confidence, Evidence, Facts, NodeReport } from '../report-schema.ts';
import { seenSeconds } from '../use/seen.ts';
import type { Check } from './finding.ts';

/** Nearly all CPUs busy: only then can there be too many threads. */
export const FULL = 0.9;

/** Some task waited for a CPU in this share of the time. */
export const PRESSURE_CPU = 0.25;

/** The quota of the cgroup ran out in more than this share of the periods. */
export const THROTTLED = 0.05;

/** Threads that waited for less than so many CPUs on average held nothing up. */
const WAITED_CPUS = 0.1;

/** From this share of its CPUs on, had and waited for, a job wanted them: below, it did something else most of the time. */
const WANTED = 0.5;

/** Of the time in which its threads wanted a CPU, the share in which they had none. */
export function waitedShare({ cpu_wait_seconds: waited, cpu_seconds: ran }: NodeReport): number | undefined {
  return waited === undefined || ran === undefined || waited + ran === 0 ? undefined : waited / (waited + ran);
}

/** CPUs that the job's threads wanted on a node, on average: those that they had, and those that they waited for. */
function wantedOn(n: NodeReport): number | undefined {
  const seconds = seenSeconds(n) ?? 0;
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
export function hasWaited(n: NodeReport): boolean {
  if (n.cpu_utilization === undefined || n.cpu_utilization >= FULL) return false;
  const share = waitedShare(n);
  if (share === undefined) return n.pressure_scope === 'job' && (n.pressure_cpu ?? 0) >= PRESSURE_CPU;
  return share >= PRESSURE_CPU && n.cpu_wait_seconds! >= WAITED_CPUS * (seenSeconds(n) ?? 0);
}

/** Whether it waited so, and wanted its CPUs most of the time; of the machine's, which nobody asked for, one. */
export function isHeldUp(n: NodeReport): boolean {
  if (!hasWaited(n)) return false;
  if (n.cpu_wait_seconds === undefined) return busyOn(n) + n.pressure_cpu! >= WANTED;
  return wantedOn(n)! >= WANTED * (n.cpus_source === 'machine' ? 1 : n.cpus!);
}

/** Whether its threads may run on fewer CPUs than it has and than they wanted, and used those. */
const isBound = (n: NodeReport): boolean =>
  n.allowed_cpus !== undefined && wantedOn(n)! > 1.1 * n.allowed_cpus && busyOn(n) >= 0.5 * n.allowed_cpus;

const busyOn = (n: NodeReport): number => n.cpu_utilization! * n.cpus!;

/** The quota of the cgroup, which is said apart. */
export const isThrottled = (n: NodeReport): boolean => (n.cpu_throttled ?? 0) > THROTTLED;

/** CPUs of the node that others kept busy. */
function othersOn(n: NodeReport): number | undefined {
  if (n.node_cpu_utilization === undefined || n.node_cpus === undefined) return undefined;
  return Math.max(0, n.node_cpu_utilization * n.node_cpus - busyOn(n));
}

/** Whether others left no CPU of the node free. */
function isFullOfOthers(n: NodeReport): boolean {
  return (n.node_cpu_utilization ?? 0) >= FULL && (othersOn(n) ?? 0) >= WAITED_CPUS * n.node_cpus!;
}

/** Whether CPUs of the job that stood idle may have been taken by others: nobody knows whether it waited for them. */
export const isMaybeStarved = ({ nodes }: Facts): boolean =>
  nodes.some((n) => n.cpu_utilization !== undefined && !isToldOf(n) && isFullOfOthers(n));

const isToldOf = (n: NodeReport): boolean =>
  n.cpu_wait_seconds !== undefined || (n.pressure_scope === 'job' && n.pressure_cpu !== undefined);

export const MAYBE_STARVED: { confidence: Confidence; confidence_reason: string } = {
  confidence: 'low',
  confidence_reason: 'others kept all CPUs of the node busy: whether the job waited for them is not known',
};

const NOT_TOLD = {
  unmeasurable: 'neither the waiting of the job’s processes nor the pressure in a cgroup of its own was recorded',
};

/** How long the threads of a node waited. */
export const waitEvidence = (n: NodeReport): Evidence => evidenceOf(n)[0]!;

function evidenceOf(n: NodeReport): Evidence[] {
  const waited = waitedShare(n);
  return [
    waited === undefined
      ? {
          text: `${n.node}: its threads waited for a CPU ${percent(n.pressure_cpu)} of the time`,
          from: 'cgroup (stalled)',
          node: n.node,
          value: n.pressure_cpu!,
          threshold: PRESSURE_CPU,
        }
      : {
          text: `${n.node}: threads ran for ${formatDuration(n.cpu_seconds!)} and waited for a CPU for ${formatDuration(n.cpu_wait_seconds!)}`,
          from: 'process_end.time_waiting, process.wait_ms',
          node: n.node,
          value: waited,
          threshold: PRESSURE_CPU,
        },
    ...(n.node_cpu_utilization === undefined
      ? []
      : [
          {
            text: `${n.node}: ${percent(n.node_cpu_utilization)} of its CPUs busy, ${cpusFigure(othersOn(n) ?? 0)} of ${figure(n.node_cpus)} with others’ work`,
            from: 'cpu.busy_ms',
            node: n.node,
            value: n.node_cpu_utilization,
            threshold: FULL,
          },
        ]),
  ];
}

export const cpuStarved: Check = {
  id: 'cpu-starved',
  title: 'waiting for CPUs that others used',
  help: 'The job’s threads were ready to run and had no CPU in a quarter of the time or more, while less than 90 % of its CPUs worked for it, and with that waiting it wanted at least half of them. Neither a quota nor its own binding explains that: others used them.',
  needs: 'the waiting of processes (process_end.time_waiting, process.wait_ms) or the pressure in the job’s own cgroup',
  kind: 'waste',
  look(facts) {
    const nodes = facts.nodes.filter(isToldOf);
    if (nodes.length === 0) return NOT_TOLD;
    const held = nodes.filter((n) => isHeldUp(n) && !isThrottled(n) && !isBound(n));
    if (held.length === 0) return [];
    const sure = held.every(isFullOfOthers);
    const had = held.reduce((sum, n) => sum + busyOn(n), 0);
    const cpus = held.reduce((sum, n) => sum + n.cpus!, 0);
    const where = listed(held.map((n) => n.node));
    return [
      {
        id: 'cpu-starved',
        severity: 'warning',
        text: sure
          ? `The job waited for CPUs on ${where}: others used them; it had ${cpusFigure(had)} of ${figure(cpus)}`
          : `The job waited for CPUs on ${where}, and had ${cpusFigure(had)} of ${figure(cpus)}`,
        evidence: held.slice(0, 8).flatMap(evidenceOf),
        advice: sure
          ? 'Asking for fewer CPUs would not help: run where nobody else uses them (an exclusive node, or CPUs that the scheduler binds jobs to), and tell the administrators that this node is overbooked.'
          : 'Others used the same CPUs, or more threads than CPUs wanted to run at the same moments: see what else ran on the node, and start no more threads than there are CPUs.',
        confidence: sure && held.every((n) => waitedShare(n) !== undefined) ? 'high' : 'medium',
        confidence_reason: sure
          ? held.every((n) => waitedShare(n) !== undefined)
            ? 'the kernel counted how long its threads waited'
            : 'by the pressure in the job’s own cgroup'
          : 'not all CPUs of the node were busy: who used the job’s is not known',
      },
    ];
  },
};

export const cpuBinding: Check = {
  id: 'cpu-binding',
  title: 'threads bound to too few CPUs',
  help: 'The processes that did the work may run on fewer CPUs than the job has, and their threads waited for those.',
  needs: 'process.allowed_cpus, and the waiting of processes',
  kind: 'waste',
  look(facts) {
    const nodes = facts.nodes.filter((n) => n.cpu_wait_seconds !== undefined);
    if (nodes.length === 0) return { skipped: 'how long the job’s threads waited for a CPU is not known' };
    const bound = nodes.filter((n) => hasWaited(n) && !isThrottled(n) && isBound(n));
    if (bound.length === 0) return [];
    const [first] = bound;
    const more = bound.length === 1 ? '' : ` on ${listed(bound.map((n) => n.node))}`;
    return [
      {
        id: 'cpu-binding',
        severity: 'warning',
        text: `The job’s threads are bound to ${figure(first!.allowed_cpus)} of its ${count(first!.cpus!, 'CPU')}${more}`,
        evidence: bound.slice(0, 8).flatMap((n) => [
          {
            text: `${n.node}: its processes may run on ${count(n.allowed_cpus!, 'CPU')} and wanted ${cpusFigure(wantedOn(n)!)}`,
            from: 'process.allowed_cpus',
            node: n.node,
            value: n.allowed_cpus!,
            threshold: n.cpus!,
          },
          waitEvidence(n),
        ]),
        advice:
          'Give every thread its own CPU: srun --cpus-per-task (and --cpu-bind=cores), mpirun --bind-to or --map-by with the number of threads, OMP_PROC_BIND and OMP_PLACES, or no taskset.',
        confidence: 'high',
        confidence_reason: 'the kernel says where they may run, and counted how long they waited',
      },
    ];
  },
};
