import { stated } from '../../../base/stated.ts';
import { quantiles } from '../../../recording/sealed/quantiles.ts';
import { cgroupTable, gpuTable } from '../../../sources/tables.ts';
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
  /** Share of the usual use, below which there was little use. */
  little: 0.2,
  /** Share of the job’s duration with little use. */
  duration: 0.15,
  /** Seconds with little use. */
  seconds: 8,
  /** Mean use in the rest of the time, as a share of the usual use. */
  rest: 0.5,
  /** CPUs or GPUs usually in use, below which a job is not judged: it never worked. */
  usual: 0.4,
};

const STEPS = 60;

/** Statistics may tell that there is no such time: samples need not be read. */
function isEven(facts: RuleContext, { duration, little }: typeof EDGE): boolean {
  // with so long a time of little use the mean cannot be more than this share of what is usual
  const most = 1 - duration * (1 - little);
  if ((facts.summary.gpus ?? 0) > 0) {
    const cards = facts.statistics(gpuTable.col.utilization_percent).map(({ statistics }) => statistics);
    const sum = (of: 'mean' | 'p95'): number => cards.reduce((all, card) => all + card[of], 0);
    return cards.length > 0 && sum('mean') >= most * sum('p95');
  }
  return facts.nodes.every((n) => n.cpu_utilization! >= most * n.cpu_utilization_max!);
}

/** Read once for all rules: of one node that tells whether the others are worth reading, and of all. */
interface Read {
  one?: UseOverTime | 'unknown';
  all?: UseOverTime | 'unknown';
}
const read = new WeakMap<RuleContext, Read>();

/** Of GPUs where the job has some, else of CPUs; undefined where the samples do not tell. */
export function useOverTime(facts: RuleContext, limits: typeof EDGE): UseOverTime | undefined {
  if (isEven(facts, limits)) return undefined;
  const kept = read.get(facts) ?? {};
  read.set(facts, kept);
  const { wall_seconds: wall, gpus = 0 } = facts.summary;
  const resource = gpus > 0 ? 'GPU' : 'CPU';
  const [first] = facts.nodes.filter(({ samples = 0 }) => samples > 0);
  const isSeries = resource === 'GPU' || facts.nodes.every((n) => n.cpu_source === 'cgroup');
  const isFine = (use: UseOverTime): boolean =>
    [use.busy, use.busy.toReversed()].every((busy) => littleUse({ ...use, busy }, wall, limits) === undefined);
  if (isSeries && facts.nodes.length > 1) {
    kept.one ??= ofBusy(facts, resource, busyIn(facts, resource, first?.node)) ?? 'unknown';
    if (kept.one !== 'unknown' && isFine(kept.one)) return kept.one;
  }
  kept.all ??=
    ofBusy(facts, resource, isSeries ? busyIn(facts, resource) : facts.useOverTime(resource, STEPS)) ?? 'unknown';
  return kept.all === 'unknown' ? undefined : kept.all;
}

function ofBusy(facts: RuleContext, resource: 'CPU' | 'GPU', busy: number[] | undefined): UseOverTime | undefined {
  const busyValues = Float64Array.from(busy?.filter((each) => !Number.isNaN(each)) ?? []);
  if (busy === undefined || busyValues.length < STEPS / 2) return undefined;
  const [usual] = quantiles(busyValues, busyValues.length, [0.75]);
  return { resource, busy, step: facts.summary.wall_seconds / STEPS, usual: usual! };
}

/** From the one column that tells it, of one node or of all. */
function busyIn(facts: RuleContext, resource: 'CPU' | 'GPU', node?: string): number[] | undefined {
  const { start } = facts.job;
  const step = (facts.summary.wall_seconds * 1e6) / STEPS;
  const options = { step, ...stated({ node }) };
  const all =
    resource === 'CPU'
      ? facts.series(cgroupTable.col.usage_us, { ...options, keys: { cgroup: '.' } })
      : facts.series(gpuTable.col.utilization_percent, options).filter((one) => isOwn(facts, one.node, one.keys.gpu));
  if (all.length === 0) return undefined;
  const busy = new Array<number>(STEPS).fill(Number.NaN);
  for (const { time, mean } of all)
    for (const [i, value] of mean.entries()) {
      const at = Math.floor((time[i]! + step / 2 - start) / step);
      if (at < 0 || at >= STEPS || Number.isNaN(value)) continue;
      busy[at] = (busy[at]! || 0) + value / (resource === 'CPU' ? 1e6 : 100);
    }
  return busy;
}

const isOwn = ({ gpus }: RuleContext, node: string, gpu: string | undefined): boolean =>
  gpus.find((one) => one.node === node && one.gpu === gpu)?.own !== false;

/** Columns whose samples tell it. */
export const USE_OVER_TIME = [gpuTable.col.utilization_percent, cgroupTable.col.usage_us];

/** How many steps at the start (or, reversed, at the end) had little use, with what the rest used; undefined: it is not so. */
export function littleUse(
  { busy, step, usual }: UseOverTime,
  wall: number,
  limits: typeof EDGE,
): { seconds: number; used: number; rest: number } | undefined {
  if (usual < limits.usual) return undefined;
  let steps = 0;
  while (steps < busy.length && !(busy[steps]! >= limits.little * usual)) steps++;
  // what was not sampled is no time of little use
  const seconds = busy.slice(0, steps).filter((each) => !Number.isNaN(each)).length * step;
  if (steps === busy.length || seconds < limits.seconds || seconds < limits.duration * wall) return undefined;
  const mean = (of: number[]): number => {
    const numbers = of.filter((each) => !Number.isNaN(each));
    return numbers.reduce((sum, each) => sum + each, 0) / numbers.length;
  };
  const [used, rest] = [mean(busy.slice(0, steps)), mean(busy.slice(steps))];
  return Number.isNaN(used) || rest < limits.rest * usual ? undefined : { seconds, used, rest };
}
