import type { SeriesStatistics } from '../recording/statistics.ts';
import type { Material, NodeMaterial } from './material.ts';
import { stepsOf } from './step-lives.ts';

/** The kernel's start of a process is known to some hundredths of a second. */
export const KERNEL_CLOCK = 50_000;

/** Samples know when a process began to a second, as one that took over from another program did. */
const SAME_LIFE = 1e6;

/**
 * Of a part of the job: places of records (in `lives`) whose processes began and ended in it, so that it has all they did.
 * A step has its own, whatever the scheduler's moments are.
 */
export function livesInPart({ lives, range, job, now }: Material): number[] {
  if (lives === undefined || range === undefined) return [];
  const { step } = range;
  const steps = step === undefined ? undefined : stepsOf(lives, job.steps);
  const from = Math.max(range.from ?? job.start, job.start) - KERNEL_CLOCK;
  // the last ones may end a moment after the job is said to
  const to = range.to === undefined || range.to >= (job.end ?? now) ? Number.POSITIVE_INFINITY : range.to;
  const places: number[] = [];
  const ended = new Set<string>();
  const process = (i: number): string => `${lives.node[i]} ${lives.pid[i]} ${lives.birth[i]}`;
  for (let i = 0; i < lives.length; i++) {
    const exact = lives.source[i] === 'record' || lives.source[i] === 'parent';
    const began = Number.isNaN(lives.birth[i]!) ? lives.start[i]! : Math.min(lives.birth[i]!, lives.start[i]!);
    if (!exact || steps?.[i] !== step?.id) continue;
    if (step?.whole !== true && !(began >= from && lives.end[i]! <= to)) continue;
    if (range.nodes !== undefined && !range.nodes.includes(lives.node[i]!)) continue;
    places.push(i);
    // one that became another program has not ended
    if (lives.ended[i] !== 'exec') ended.add(process(i));
  }
  return places.filter((i) => ended.has(process(i)));
}

/** Whether the process that sampling saw is among those that a part has records of, or is known to be another step's. */
export function toldInPart({ lives, range, job }: Material, places: readonly number[]) {
  const step = range?.step;
  const steps = step === undefined ? undefined : stepsOf(lives!, job.steps);
  const others = steps?.flatMap((each, i) => (each === step!.id ? [] : i)) ?? [];
  const byProcess = Map.groupBy([...places, ...others], (i) => `${lives!.node[i]} ${lives!.pid[i]}`);
  return ({ node }: NodeMaterial, { keys }: SeriesStatistics): boolean => {
    const began = Number(keys.start) * 1000;
    const own = byProcess.get(`${node} ${keys.pid}`) ?? [];
    // one that was killed has told of its start alone
    const end = (i: number): number => (Number.isNaN(lives!.end[i]!) ? lives!.start[i]! : lives!.end[i]!);
    return own.some((i) => began > lives!.start[i]! - SAME_LIFE && began < end(i) + SAME_LIFE);
  };
}
