import { smallest } from '../../base/extremes.ts';
import { count, cpusFigure, figure, listed, percent } from '../../base/words.ts';
import type { Confidence, Evidence, Facts, NodeReport, ProcessReport } from '../report-schema.ts';
import { seenSeconds, UNLIKE_TIMES, weightedMean } from '../use/seen.ts';
import {
  FULL,
  hasWaited,
  isHeldUp,
  isMaybeStarved,
  isThrottled,
  MAYBE_STARVED,
  PRESSURE_CPU,
  THROTTLED,
  waitEvidence,
  waitedShare,
  wantedCpus,
} from './cpu-waits.ts';
import { type Answer, type Check, sampled } from './finding.ts';

/** Below this share of the allocation most of the CPUs stood idle. */
export const LOW_UTILIZATION = 0.65;

/** Below this it costs others a lot: a warning, not advice. */
export const VERY_LOW_UTILIZATION = 0.25;

/** One CPU busy, within this of exactly one: the mark of a program without threads. */
export const SERIAL_FROM = 0.85;
export const SERIAL_TO = 1.05;

/** So many runnable threads for each CPU of the node. */
export const LOAD_PER_CPU = 1.5;

/** A node below this did nothing for the job. */
export const NODE_IDLE = 0.01;

/** GPU jobs need CPUs to feed their cards: low CPU use alone is no waste there. */
const gpuJob = (facts: Facts): boolean => (facts.summary.gpus ?? 0) > 0;

function allocation(facts: Facts): Answer | undefined {
  const { cpu_utilization, cpus, cpus_source } = facts.summary;
  if (cpu_utilization === undefined || cpus === undefined) {
    return {
      unmeasurable: 'the job’s CPU time could not be told from that of others',
      hint: 'a cgroup of its own, or the process table, is needed',
    };
  }
  if (cpus_source === 'machine') return { skipped: 'no CPUs were asked for: the job had the machine’s' };
  return undefined;
}

/** With what they waited for, its threads wanted less than so many CPUs: two threads that share one want two. */
const SERIAL_WANTED = 1.5;

function isSerial(facts: Facts): boolean {
  const { cpus_busy, cpus, nodes } = facts.summary;
  if (nodes !== 1 || cpus! < 2 || (wantedCpus(facts) ?? 1) >= SERIAL_WANTED || isMaybeStarved(facts)) return false;
  return cpus_busy! >= SERIAL_FROM && cpus_busy! <= SERIAL_TO;
}

export const cpuUnderused: Check = {
  id: 'cpu-underused',
  title: 'CPUs that were asked for and not used',
  help: 'The job kept less than 65 % of its CPUs busy, one CPU included. What its threads wanted and did not get counts as used: then it waited for CPUs, which is said apart. Jobs with GPUs are told only below 25 %, and only as information.',
  needs: 'the job’s CPU time (wait4, cgroup or process) and the CPUs it was given',
  kind: 'waste',
  look(facts) {
    const missing = allocation(facts);
    if (missing !== undefined) return missing;
    const { cpu_utilization: used, cpus_busy: busy, cpus_measured: measured } = facts.summary;
    if (isSerial(facts)) return { skipped: 'the job is serial, which is said apart' };
    const least = gpuJob(facts) ? VERY_LOW_UTILIZATION : LOW_UTILIZATION;
    if (used! >= least) return [];
    // what was not measured may have been busy: nothing is said of it
    const unseen = facts.nodes.filter((n) => n.cpu_utilization === undefined).map((n) => n.node);
    const cpus = unseen.length === 0 ? facts.summary.cpus! : measured!;
    const needed = wantedCpus(facts) ?? busy!;
    const heldUp = facts.nodes.filter(isHeldUp);
    const isWaiting = heldUp.length === facts.nodes.length || (needed === busy && heldUp.length > 0);
    if (needed >= least * cpus || isWaiting)
      return { skipped: 'the job’s CPUs were not idle: it waited for them, which is said apart' };
    const waited = facts.nodes.filter((n) => hasWaited(n) && !isHeldUp(n));
    const wanted = Math.max(1, Math.ceil(needed * 1.1));
    const part = unseen.length === 0 ? '' : ' that were measured';
    const each = unseen.length > 0 ? ' for these nodes' : facts.summary.nodes > 1 ? ' in all' : '';
    const unsure = isMaybeStarved(facts);
    const option = slurm(facts) && facts.summary.nodes === 1 ? ` (#SBATCH --cpus-per-task=${wanted} for one task)` : '';
    return [
      {
        id: 'cpu-underused',
        // nobody can ask for less than one CPU
        severity: gpuJob(facts) || unsure ? 'info' : used! < VERY_LOW_UTILIZATION && cpus > 1 ? 'warning' : 'advice',
        text: `${cpusFigure(busy!)} of ${count(cpus, 'CPU')}${part} ${cpus === 1 ? 'was' : 'were'} busy on average (${percent(used)})`,
        evidence: [
          {
            text: `CPU utilisation ${percent(used)} of the ${part === '' ? 'allocation' : `CPUs${part}`}`,
            from: cpuFrom(facts),
            value: used!,
            threshold: least,
          },
          idleHours(facts, cpus),
          ...waited.slice(0, 8).map(waitEvidence),
          ...(part === '' ? [] : [{ text: `not measured: ${listed(unseen)}`, from: cpuFrom(facts) }]),
        ],
        advice: unsure
          ? 'See what else ran on the node before you ask for fewer CPUs. In a cgroup of its own, or with processes that record themselves (tacho env), a job’s waiting is known.'
          : gpuJob(facts)
            ? `The GPUs may need them for short bursts${wanted < cpus ? `; if not, ${count(wanted, 'CPU')}${each} would do` : ''}.`
            : wanted < cpus
              ? `Ask for ${count(wanted, 'CPU')}${each}${option}, or use them: more threads or ranks, and check that they are not all bound to the same CPUs.`
              : cpus <= 1
                ? `The program waited ${waited.length > 0 ? 'most of the time ' : ''}for something else than a CPU: files, the network, another program or a fixed time. Look at what that is; if it has to be so, run several of them in one job, or where jobs share CPUs.`
                : `Fewer than ${figure(cpus)} would not do: at times it used more than ${figure(wanted - 1)}. Divide the work more evenly, or see what its threads wait for: locks, each other, files.`,
        ...(unsure ? MAYBE_STARVED : exactly(facts)),
      },
    ];
  },
};

/** So little of the time was seen that it must be said. */
const SEEN = 0.9;

/** What stood idle while somebody looked. */
function idleHours({ nodes, summary }: Facts, cpus: number): Evidence {
  const seen = weightedMean(nodes.map((n) => [n.cpu_window_seconds, n.cpus])) ?? 0;
  const part = seen < SEEN * summary.wall_seconds ? ' in the time that was recorded' : '';
  const hours = (cpus * seen * (1 - summary.cpu_utilization!)) / 3600;
  return { text: `${figure(hours)} core hours idle${part}`, from: 'job.json' };
}

export const cpuSerial: Check = {
  id: 'cpu-serial',
  title: 'a serial program on many CPUs',
  help: 'One CPU was busy all the time and the others never: the program runs one thread.',
  needs: 'the job’s CPU time and the CPUs it was given',
  kind: 'waste',
  look(facts) {
    const missing = allocation(facts);
    if (missing !== undefined) return missing;
    if (facts.summary.cpus! < 2 || !isSerial(facts) || gpuJob(facts)) return [];
    const { cpus, cpus_busy: busy } = facts.summary;
    const threads = facts.job.environment.OMP_NUM_THREADS;
    const told = threads === undefined ? '' : ` (OMP_NUM_THREADS was ${threads})`;
    const had =
      facts.processes.reduce(
        (most, p) => (p.cpu_seconds! > (most.cpu_seconds ?? -1) ? p : most),
        {} as Partial<ProcessReport>,
      ).threads_max ?? 1;
    const use =
      had < 2
        ? `let the program use threads${told}`
        : `see why its ${had} threads${told} run one at a time (a lock, as Python has one; then use processes)`;
    return [
      {
        id: 'cpu-serial',
        severity: 'warning',
        text: `One CPU worked, ${figure(cpus! - 1)} stood idle: the program ran as if serial`,
        evidence: [
          {
            text: `${figure(busy)} CPUs busy on average, of ${figure(cpus)}`,
            from: cpuFrom(facts),
            value: busy!,
            threshold: SERIAL_TO,
          },
          idleHours(facts, cpus!),
        ],
        advice: slurm(facts)
          ? `Ask for one CPU (#SBATCH --ntasks=1 --cpus-per-task=1), or ${use}.`
          : `Ask for one CPU, or ${use}.`,
        ...exactly(facts),
      },
    ];
  },
};

export const cpuOversubscribed: Check = {
  id: 'cpu-oversubscribed',
  title: 'more threads than CPUs',
  help: 'The job’s CPUs were nearly all busy and tasks waited for a CPU in a quarter of the time, or the load was 1.5 times the node’s CPUs. Where only the whole node is known, the job’s own threads must have waited, too.',
  needs: 'the job’s CPU time, and pressure.some_total_us (cpu) or loadavg.load1',
  kind: 'trouble',
  look(facts) {
    const nodes = facts.nodes.filter((n) => n.pressure_cpu !== undefined || n.load_mean !== undefined);
    if (nodes.length === 0) return { unmeasurable: 'neither CPU pressure nor load was recorded' };
    if (nodes.every((n) => n.cpu_utilization === undefined)) {
      return { unmeasurable: 'the job’s CPU time could not be told from that of others' };
    }
    const crowded = nodes.filter((n) => (n.cpu_utilization ?? 0) >= FULL && !isThrottled(n) && isCrowded(n));
    if (crowded.length === 0) return [];
    const own = crowded.every((n) => n.pressure_scope === 'job');
    return [
      {
        id: 'cpu-oversubscribed',
        severity: 'advice',
        text: `More threads wanted to run than there were CPUs on ${listed(crowded.map((n) => n.node))}`,
        evidence: crowded.slice(0, 8).flatMap((n) => [
          ...(n.pressure_cpu === undefined
            ? []
            : [
                {
                  text: `${n.node}: tasks waited for a CPU ${percent(n.pressure_cpu)} of the time`,
                  from: waitFrom(n),
                  node: n.node,
                  value: n.pressure_cpu,
                  threshold: PRESSURE_CPU,
                },
              ]),
          ...(n.load_mean === undefined || n.node_cpus === undefined
            ? []
            : [
                {
                  text: `${n.node}: load ${figure(n.load_mean)} on ${n.node_cpus} CPUs`,
                  from: 'loadavg.load1',
                  node: n.node,
                  value: n.load_mean,
                  threshold: LOAD_PER_CPU * n.node_cpus,
                },
              ]),
        ]),
        advice:
          'Start fewer threads: ranks × threads must not exceed the CPUs (set OMP_NUM_THREADS, and the thread counts of BLAS and data loaders).',
        confidence: own ? 'high' : 'medium',
        confidence_reason: own
          ? 'measured in the job’s own cgroup'
          : 'pressure and load are the whole node’s, also those of others',
      },
    ];
  },
};

function isCrowded(n: NodeReport): boolean {
  // others may crowd a node on which the job has all that it wants
  const waited = waitedShare(n);
  if (n.pressure_scope !== 'job' && waited !== undefined && waited < PRESSURE_CPU) return false;
  if (n.pressure_cpu !== undefined && n.pressure_cpu >= PRESSURE_CPU) return true;
  return (
    n.pressure_cpu === undefined &&
    n.load_mean !== undefined &&
    n.node_cpus !== undefined &&
    n.load_mean >= LOAD_PER_CPU * n.node_cpus
  );
}

export const cpuThrottled: Check = {
  id: 'cpu-throttled',
  title: 'CPU time cut off by a quota',
  help: 'The CPU quota of the cgroup that the job ran in (its own, or that of its container or unit) ran out in more than 5 % of its periods: the job was made to stand still.',
  needs: 'cgroup: periods and throttled periods',
  kind: 'trouble',
  look(facts) {
    const measured = facts.nodes.filter((n) => n.cpu_throttled !== undefined);
    if (measured.length === 0)
      return { skipped: 'no CPU quota is set on the cgroup that the job ran in, or none can be read' };
    // in a cgroup that it shares, others may have used up the quota while it had nothing to do
    const held = measured.filter((n) => n.cpu_throttled! > THROTTLED && (waitedShare(n) ?? 1) > THROTTLED);
    if (held.length === 0) return [];
    return [
      {
        id: 'cpu-throttled',
        severity: 'warning',
        text: `The CPU quota held the job up on ${listed(held.map((n) => n.node))}`,
        evidence: held.slice(0, 8).map((n) => ({
          text: `${n.node}: stopped in ${percent(n.cpu_throttled)} of the periods`,
          from: 'cgroup.throttled_periods',
          node: n.node,
          value: n.cpu_throttled!,
          threshold: THROTTLED,
        })),
        advice: 'Run no more threads than the quota pays for, or ask for more CPUs.',
        confidence: 'high',
        confidence_reason: 'counted by the kernel',
      },
    ];
  },
};

export const nodeIdle: Check = {
  id: 'node-idle',
  title: 'nodes that did nothing',
  help: 'A node stayed below 1 % of its CPUs and GPUs while others of the same job worked. A node is held only against others that were seen long enough for that.',
  needs: 'the job’s CPU time on each node',
  kind: 'waste',
  look(facts) {
    if (facts.summary.nodes < 2) return { skipped: 'the job has one node' };
    const measured = facts.nodes.filter((n) => n.cpu_utilization !== undefined);
    if (measured.length === 0) return { unmeasurable: 'the job’s CPU time could not be told from that of others' };
    // one that waited for its CPUs had something to do
    const below = measured.filter((n) => isIdleNode(n) && !isHeldUp(n));
    if (below.length === 0) return [];
    const working = measured.filter((n) => !below.includes(n));
    // what it did in a longer time it may have done while the others were seen
    const idle = below.filter(
      (n) => working.length === 0 || working.some((other) => isIdleNode(n, seenSeconds(other))),
    );
    if (idle.length === 0) return { unmeasurable: UNLIKE_TIMES };
    const samples = smallest(idle.map((n) => n.samples ?? 0));
    const enough = facts.summary.nodes - idle.length;
    const hours = idle.reduce((seconds, n) => seconds + (seenSeconds(n) ?? 0), 0) / 3600;
    return [
      {
        id: 'node-idle',
        severity: 'warning',
        text: `${idle.length} of ${facts.summary.nodes} nodes did nothing: ${listed(idle.map((n) => n.node))}`,
        evidence: [
          ...idle.slice(0, 8).map((n) => ({
            text: `${n.node}: CPU ${percent(n.cpu_utilization)}`,
            from: cpuFrom(facts),
            node: n.node,
            value: n.cpu_utilization!,
            threshold: NODE_IDLE,
          })),
          { text: `${figure(hours)} node hours idle`, from: 'job.json' },
        ],
        advice: `Start the program on all nodes${slurm(facts) ? ' (srun ./program, not ./program)' : ''}${
          enough === 0 ? '; see below whether it ran at all' : `, or ask for ${count(enough, 'node')}`
        }.`,
        ...sampled(facts, samples),
      },
    ];
  },
};

/** Whether a node did nothing in its time, or in so much of it, were all that it did in there. */
function isIdleNode(n: NodeReport, seconds = Number.POSITIVE_INFINITY): boolean {
  const seen = seenSeconds(n) ?? 0;
  const times = seconds > 0 && seconds < seen ? seen / seconds : 1;
  return n.cpu_utilization! * times < NODE_IDLE && (n.gpu_utilization ?? 0) * times < NODE_IDLE;
}

export const ioWait: Check = {
  id: 'io-wait',
  title: 'waiting for files',
  help: 'Tasks waited for I/O in a fifth of the time (pressure), or CPUs stood idle waiting for a disk for a tenth of the allocation. What is known of the whole node only is not said of a job whose own processes did next to no I/O.',
  needs: 'pressure.some_total_us (io) or cpu.iowait_ms',
  kind: 'trouble',
  look(facts) {
    const measured = facts.nodes.filter((n) => n.pressure_io !== undefined || n.iowait !== undefined);
    if (measured.length === 0) return { unmeasurable: 'neither I/O pressure nor I/O wait was recorded' };
    const held = measured.filter((n) => (n.pressure_io ?? 0) >= PRESSURE_IO || waitingCpus(n) >= IOWAIT);
    const waiting = held.filter((n) => !hasNoIo(n));
    if (held.length > 0 && waiting.length === 0)
      return { skipped: 'the job’s own processes did next to no I/O: others on the node waited for it' };
    if (waiting.length === 0) return [];
    const own = waiting.every((n) => n.pressure_scope === 'job');
    const sure: Confidence = own ? 'high' : 'medium';
    const most = weightedMean(waiting.map((n) => [n.pressure_io ?? waitingCpus(n), n.recorded_seconds]));
    return [
      {
        id: 'io-wait',
        severity: 'advice',
        text: `Work waited for files ${percent(most)} of the time on ${listed(waiting.map((n) => n.node))}`,
        evidence: waiting.slice(0, 8).flatMap((n) => [
          ...(n.pressure_io === undefined
            ? []
            : [
                {
                  text: `${n.node}: tasks waited for I/O ${percent(n.pressure_io)} of the time`,
                  from: waitFrom(n),
                  node: n.node,
                  value: n.pressure_io,
                  threshold: PRESSURE_IO,
                },
              ]),
          ...(n.iowait === undefined
            ? []
            : [
                {
                  text: `${n.node}: CPUs idle for a disk ${percent(n.iowait)}`,
                  from: 'cpu.iowait_ms',
                  node: n.node,
                  value: n.iowait,
                },
              ]),
        ]),
        advice:
          'Read and write larger pieces, keep small or often-read files on a local disk, and write checkpoints less often or in the background.',
        confidence: sure,
        confidence_reason: own
          ? 'measured in the job’s own cgroup'
          : 'measured for the whole node, also for others on it',
      },
    ];
  },
};

/** Programs read so much to start, and so much a second in passing: less is no work with files. */
const LITTLE_IO_BYTES = 4 * 2 ** 20;
const LITTLE_IO_RATE = 16 * 2 ** 10;
/** Page faults a second that waited for a disk. */
const LITTLE_FAULTS = 10;

/** Whether only the whole node's waiting is known, and the job's own processes cannot have had a part in it. */
export function hasNoIo(n: NodeReport): boolean {
  if (n.pressure_scope === 'job' || n.io_bytes === undefined || n.major_faults === undefined) return false;
  const seconds = n.recorded_seconds ?? 0;
  return n.io_bytes < LITTLE_IO_BYTES + LITTLE_IO_RATE * seconds && n.major_faults <= LITTLE_FAULTS * seconds;
}

/** Tasks waited for I/O in this share of the time. */
export const PRESSURE_IO = 0.2;

/** CPUs that waited for a disk, as a share of the job's CPUs. */
export const IOWAIT = 0.1;

function waitingCpus(n: NodeReport): number {
  if (n.iowait === undefined || n.node_cpus === undefined) return 0;
  return (n.iowait * n.node_cpus) / Math.max(1, n.cpus ?? n.node_cpus);
}

export const slurm = (facts: Facts): boolean => facts.job.scheduler === 'slurm';

function cpuFrom(facts: Facts): string {
  const names = {
    wait4: 'wait4',
    cgroup: 'cgroup.usage_us',
    records: 'process_end',
    'records and samples': 'process_end, process',
    processes: 'process',
    node: 'cpu.busy_ms',
  };
  return names[facts.summary.cpu_source ?? 'node'];
}

/** A counter of the kernel is exact; samples of processes miss those that came and went between two ticks. */
function exactly(facts: Facts): { confidence: Confidence; confidence_reason: string } {
  if (facts.summary.cpu_source === 'processes')
    return { confidence: 'medium', confidence_reason: 'added up from sampled processes: short-lived ones are missing' };
  if (facts.summary.cpu_source === 'records and samples')
    return { confidence: 'medium', confidence_reason: 'some processes left no record: they were only sampled' };
  if (facts.summary.cpu_source === 'wait4')
    return { confidence: 'high', confidence_reason: 'exact count by the kernel' };
  return sampled(facts, undefined);
}

/** Waits of the job's own cgroup, or of the whole node. */
function waitFrom(n: NodeReport): string {
  return n.pressure_scope === 'job' ? 'cgroup (stalled)' : 'pressure.some_total_us';
}
