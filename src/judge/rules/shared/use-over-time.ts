import { quantiles } from '../../../recording/sealed/quantiles.ts';
import { gpuTable } from '../../../sources/tables.ts';
import type { RuleContext } from './rule.ts';

/** How busy the job was over its duration, in equal steps. */
export interface UseOverTime {
  resource: 'CPU' | 'GPU';
  /** CPUs or GPUs busy on average in each step; NaN where nobody knows. */
  busy: number[];
  /** Seconds of a step. */
  step: number;
  /** What is usual when it works: three quarters of the steps that worked have less. */
  usual: number;
}

/** Limits of rules about the start and the end of a job: among the thresholds of each. */
export const EDGE = {
  /** Below this share of what is usual later there was little use. */
  little: 0.2,
  /** It took this share of the job’s duration, and so many seconds. */
  duration: 0.15,
  seconds: 8,
  /** In the rest it used at least this share of what is usual, on average. */
  rest: 0.5,
  /** What is usual is so many CPUs or GPUs, or more: a job that never works has no start. */
  usual: 0.4,
};

const STEPS = 60;

/** Statistics may tell that there is no such time: samples need not be read. */
function isEven(facts: RuleContext): boolean {
  if ((facts.summary.gpus ?? 0) > 0) {
    const cards = facts.statistics(gpuTable.col.utilization_percent);
    return cards.length > 0 && cards.every(({ statistics: { p05, p95 } }) => p05 >= EDGE.little * p95);
  }
  const { nodes } = facts;
  return nodes.every((n) => n.cpu_utilization! >= (1 - EDGE.duration * (1 - EDGE.little)) * n.cpu_utilization_max!);
}

const seen = new WeakMap<RuleContext, UseOverTime | 'unknown'>();

/** Of GPUs where the job has some, else of CPUs; undefined where the samples do not tell. */
export function useOverTime(facts: RuleContext): UseOverTime | undefined {
  const found = seen.get(facts) ?? asked(facts) ?? 'unknown';
  seen.set(facts, found);
  return found === 'unknown' ? undefined : found;
}

function asked(facts: RuleContext): UseOverTime | undefined {
  if (isEven(facts)) return undefined;
  const resource = (facts.summary.gpus ?? 0) > 0 ? 'GPU' : 'CPU';
  const busy = facts.useOverTime(resource, STEPS);
  const known = Float64Array.from(busy?.filter((each) => !Number.isNaN(each)) ?? []);
  if (busy === undefined || known.length < STEPS / 2) return undefined;
  const [usual] = quantiles(known, known.length, [0.75]);
  return { resource, busy, step: facts.summary.wall_seconds / STEPS, usual: usual! };
}

/** How many steps at the start (or, reversed, at the end) had little use, with what the rest used; undefined: it is not so. */
export function littleUse(
  { busy, step, usual }: UseOverTime,
  wall: number,
  limits: typeof EDGE,
): { seconds: number; used: number; rest: number } | undefined {
  if (usual < limits.usual) return undefined;
  let steps = 0;
  while (steps < busy.length && !(busy[steps]! >= limits.little * usual)) steps++;
  const seconds = steps * step;
  if (steps === busy.length || seconds < limits.seconds || seconds < limits.duration * wall) return undefined;
  const mean = (of: number[]): number => {
    const known = of.filter((each) => !Number.isNaN(each));
    return known.reduce((sum, each) => sum + each, 0) / known.length;
  };
  const [used, rest] = [mean(busy.slice(0, steps)), mean(busy.slice(steps))];
  return Number.isNaN(used) || rest < limits.rest * usual ? undefined : { seconds, used, rest };
}
