import { type Intervals, lengthOf, within } from '../../base/intervals.ts';
import { type Material, wholeOf } from '../../query/material.ts';
import type { Curve } from '../../query/use/curve.ts';
import { useOf } from '../../query/use/use.ts';
import type { Report } from '../report-schema.ts';
import { waitedShare } from '../rules/shared/cpu-waiting.ts';
import { aloneTimes } from './alone.ts';

/** A share that is known only to lie between two. */
export interface ShareRange {
  low: number;
  high: number;
}

/** How many CPUs the job wanted at once, and for how long. Seconds of the job's time. */
export interface Profile {
  /** CPUs that it may use. */
  cpus: number;
  /** Time that samples cover, and the time between two of them. */
  seconds: number;
  step_seconds: number;
  /** How long nothing of it ran, one thread, more than one, and nearly all CPUs; not there where it was starved. */
  levels?: { idle: number; one: number; some: number; all: number };
  /**
   * The share of the time in which no more than one thread ran, had the job its CPUs. Low: samples that show about one, or what
   * was done while only one working thread existed, whichever is more. High: as if, whenever not all CPUs were busy, one thread
   * ran alone for a part of the time and all of them for the rest.
   */
  serial: ShareRange;
  /** The same of the work: what Amdahl's law calls the serial share, against a run on one core. */
  serial_work: ShareRange;
  /** Seconds in which only one working thread existed, by records; not there where not all of them recorded themselves. */
  alone?: number;
  /** Ran and waited for a CPU, over ran: what others took from it. 1: it did not wait, or nobody knows. */
  waiting: number;
}

/** Below this many CPUs nothing ran. */
const NOTHING = 0.1;
/** Up to this many, one thread did: with what a system and a sample's edges add. */
const ONE = 1.25;
/** From this share of its CPUs on, all were busy. */
const ALL = 0.9;
/** More steps tell no more. */
const MOST_STEPS = 5000;
/** Fewer steps than this tell nothing. */
const LEAST_STEPS = 5;
/** Where threads wanted so many times the CPU time that they got, samples do not show how many of them there were. */
export const STARVED = 1.5;

/** Undefined: no samples at hand, too few of them, or a job of one CPU. */
export function profileOf(material: Material, { job, summary, nodes }: Report): Profile | undefined {
  const sampled = material.sampled?.();
  const cpus = cpusOf(summary.cpus, nodes);
  if (sampled === undefined || cpus === undefined || cpus <= 1 || material.range !== undefined) return undefined;
  const curves = wholeOf(sampled).nodes.flatMap((node) => useOf(sampled, node, 'CPU')?.curve ?? []);
  const [from, to] = [job.start, job.end ?? material.now];
  const interval = job.interval_seconds > 0 ? job.interval_seconds * 1e6 : 1e6;
  const steps = Math.min(MOST_STEPS, Math.floor((to - from) / interval));
  const total = usedIn(curves, from, to);
  if (curves.length === 0 || !(steps >= LEAST_STEPS) || !(total > 0)) return undefined;
  const waiting = waitingOf(nodes);
  const alone = aloneTimes(material);
  const about = {
    cpus,
    seconds: (to - from) / 1e6,
    step_seconds: (to - from) / steps / 1e6,
    waiting,
    ...(alone === undefined ? {} : { alone: lengthOf(alone) / 1e6 }),
  };
  // CPU time is the same however long others made it wait
  const least = (alone ?? []).reduce((sum, [begin, end]) => sum + usedIn(curves, begin, end), 0) / total;
  if (waiting > STARVED) return { ...about, ...sharesOf({ low: least, high: 1 }, cpus) };
  return {
    ...about,
    ...sampledProfile(curves, from, to, steps, { cpus, waiting, least, ...(alone ? { alone } : {}) }),
  };
}

interface Known {
  cpus: number;
  waiting: number;
  /** Of the work, what one thread did alone. */
  least: number;
  alone?: Intervals;
}

function sampledProfile(
  curves: readonly Curve[],
  from: number,
  to: number,
  steps: number,
  { cpus, waiting, least, alone = [] }: Known,
): Pick<Profile, 'levels' | 'serial' | 'serial_work'> {
  const levels = { idle: 0, one: 0, some: 0, all: 0 };
  const step = (to - from) / steps;
  const seconds = step / 1e6;
  let [low, high, work] = [0, 0, 0];
  for (let i = 0; i < steps; i++) {
    const [begin, end] = [from + i * step, from + (i + 1) * step];
    // a thread that is alone wants one CPU at most
    const single = lengthOf(within(alone, begin, end)) / step;
    const wanted = Math.min(single + (1 - single) * cpus, (usedIn(curves, begin, end) * waiting) / seconds);
    work += (wanted < NOTHING ? 1 : wanted) * seconds;
    if (wanted < NOTHING) levels.idle += seconds;
    else if (wanted <= ONE) levels.one += seconds;
    else if (wanted >= ALL * cpus) levels.all += seconds;
    else levels.some += seconds;
    if (wanted <= ONE && ONE < ALL * cpus) low += seconds;
    if (wanted < ALL * cpus) high += Math.min(1, (cpus - wanted) / (cpus - 1)) * seconds;
  }
  const cpuRange = { low: Math.max(low / work, least), high: Math.max(high / work, low / work, least) };
  const time = (to - from) / 1e6;
  const { serial: byWork } = sharesOf(cpuRange, cpus);
  const serial = { low: Math.max(low / time, least > low / work ? byWork.low : 0), high: Math.max(high, low) / time };
  return { levels, serial: { low: serial.low, high: Math.max(serial.low, serial.high) }, serial_work: cpuRange };
}

/** Shares of the work as shares of the time on so many CPUs. */
function sharesOf(work: ShareRange, cpus: number): { serial: ShareRange; serial_work: ShareRange } {
  const inTime = (share: number): number => share / (share + (1 - share) / cpus);
  return { serial: { low: inTime(work.low), high: inTime(work.high) }, serial_work: work };
}

const usedIn = (curves: readonly Curve[], from: number, to: number): number =>
  curves.reduce((sum, curve) => sum + curve.at(to) - curve.at(from), 0);

/** Those that its processes were bound to, where these are fewer. */
function cpusOf(given: number | undefined, nodes: Report['nodes']): number | undefined {
  const bound = nodes.map((n) => n.allowed_cpus ?? n.cpus);
  return bound.includes(undefined) ? given : bound.reduce<number>((sum, cpus) => sum + cpus!, 0);
}

/** Ran and waited for a CPU, over ran; 1 where nobody knows. */
export function waitingOf(nodes: Report['nodes']): number {
  const shares = nodes.map(waitedShare);
  if (shares.includes(undefined)) return 1;
  const [ran, waited] = nodes.reduce(
    ([all, late], n) => [all + n.cpu_seconds!, late + n.cpu_wait_seconds!] as [number, number],
    [0, 0] as [number, number],
  );
  return ran > 0 ? 1 + waited / ran : 1;
}
