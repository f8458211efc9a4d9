import { type Material, wholeOf } from '../../query/material.ts';
import { useOf } from '../../query/use/use.ts';
import type { Report } from '../report-schema.ts';
import { waitedShare } from '../rules/shared/cpu-waiting.ts';
import { aloneSeconds } from './alone.ts';

/** How many CPUs the job wanted at once, and for how long. Seconds of the job's time. */
export interface Profile {
  /** CPUs that it may use. */
  cpus: number;
  /** Time that samples cover, and the time between two of them. */
  seconds: number;
  step_seconds: number;
  /** Nothing of it ran. */
  idle: number;
  /** About one thread ran. */
  one: number;
  /** More than one, not all. */
  some: number;
  /** Nearly all of its CPUs. */
  all: number;
  /**
   * The share of the time in which no more than one thread ran. Low: samples that show about one, or the time in which only
   * one working thread existed, whichever is more. High: as if, whenever not all CPUs were busy, one thread ran alone for a
   * part of the time and all of them for the rest.
   */
  serial: { low: number; high: number };
  /** Seconds in which only one working thread existed, by records; not there where not all of them recorded themselves. */
  alone?: number;
  /** The same of the work: what Amdahl's law calls the serial share, against a run on one core. */
  serial_work: { low: number; high: number };
  /** Ran and waited for a CPU, over ran: what others took from it was added. 1: it did not wait, or nobody knows. */
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

/** Undefined: no samples at hand, too few of them, or a job of one CPU. */
export function profileOf(material: Material, { job, summary, nodes }: Report): Profile | undefined {
  const sampled = material.sampled?.();
  const cpus = cpusOf(summary.cpus, nodes);
  if (sampled === undefined || cpus === undefined || cpus <= 1 || material.range !== undefined) return undefined;
  const waiting = waitingOf(nodes);
  const curves = wholeOf(sampled).nodes.flatMap((node) => useOf(sampled, node, 'CPU')?.curve ?? []);
  if (curves.length === 0) return undefined;
  const [from, to] = [job.start, job.end ?? material.now];
  const interval = job.interval_seconds > 0 ? job.interval_seconds * 1e6 : 1e6;
  const steps = Math.min(MOST_STEPS, Math.floor((to - from) / interval));
  if (!(steps >= LEAST_STEPS)) return undefined;
  const step = (to - from) / steps;
  const found: Profile = {
    cpus,
    seconds: (to - from) / 1e6,
    step_seconds: step / 1e6,
    ...{ idle: 0, one: 0, some: 0, all: 0, waiting },
    serial: { low: 0, high: 0 },
    serial_work: { low: 0, high: 0 },
  };
  let [low, high, ran] = [0, 0, 0];
  for (let i = 0; i < steps; i++) {
    const [begin, end] = [from + i * step, from + (i + 1) * step];
    const used = curves.reduce((sum, curve) => sum + curve.at(end) - curve.at(begin), 0);
    const wanted = Math.min(cpus, (used * waiting) / (step / 1e6));
    const seconds = step / 1e6;
    ran += Math.max(wanted, wanted < NOTHING ? 1 : wanted) * seconds;
    if (wanted < NOTHING) found.idle += seconds;
    else if (wanted <= ONE) found.one += seconds;
    else if (wanted >= ALL * cpus) found.all += seconds;
    else found.some += seconds;
    if (wanted <= ONE && ONE < ALL * cpus) low += seconds;
    if (wanted < ALL * cpus) high += Math.min(1, (cpus - wanted) / (cpus - 1)) * seconds;
  }
  const alone = aloneSeconds(material);
  if (alone !== undefined) found.alone = alone;
  low = Math.min(found.seconds, Math.max(low, alone ?? 0));
  found.serial = { low: low / found.seconds, high: Math.max(low, high) / found.seconds };
  found.serial_work = { low: low / ran, high: Math.max(low, high) / ran };
  return found;
}

/** Those that its processes were bound to, where these are fewer. */
function cpusOf(given: number | undefined, nodes: Report['nodes']): number | undefined {
  const bound = nodes.map((n) => n.allowed_cpus ?? n.cpus);
  return bound.includes(undefined) ? given : bound.reduce<number>((sum, cpus) => sum + cpus!, 0);
}

function waitingOf(nodes: Report['nodes']): number {
  const shares = nodes.map(waitedShare);
  if (shares.includes(undefined)) return 1;
  const [ran, waited] = nodes.reduce(
    ([all, late], n) => [all + n.cpu_seconds!, late + n.cpu_wait_seconds!] as [number, number],
    [0, 0] as [number, number],
  );
  return ran > 0 ? 1 + waited / ran : 1;
}
