import type { Material, NodeMaterial, ProcessSeries } from '../facts/material.ts';
import { stepLives } from './step-lives.ts';

/** The kernel's start of a process is known to some hundredths of a second. */
export const KERNEL_CLOCK = 50_000;

/** Samples know when a process began to a second, as one that took over from another program did. */
export const SAME_LIFE = 1e6;

/**
 * Of a part of the job: places of records (in `lives`) of programs that began and ended in it, so that it has all they did.
 * A step has its own, whatever the scheduler's moments are.
 */
export function livesInPart(material: Material): number[] {
  const { lives, range, job, now } = material;
  if (lives === undefined || range === undefined) return [];
  const ofStep = stepLives(material);
  const from = Math.max(range.from ?? job.start, job.start) - KERNEL_CLOCK;
  // the last ones may end a moment after the job is said to
  const to = range.to === undefined || range.to >= (job.end ?? now) ? Number.POSITIVE_INFINITY : range.to;
  const places: number[] = [];
  const ended = new Set<string>();
  const process = (i: number): string => `${lives.node[i]} ${lives.pid[i]} ${lives.birth[i]}`;
  for (let i = 0; i < lives.length; i++) {
    const exact = lives.source[i] === 'record' || lives.source[i] === 'parent';
    if (!exact || ofStep?.isOwn(i) === false) continue;
    if (range.step?.whole !== true && !(lives.start[i]! >= from && lives.end[i]! <= to)) continue;
    if (range.nodes !== undefined && !range.nodes.includes(lives.node[i]!)) continue;
    places.push(i);
    // one that became another program has not ended
    if (lives.ended[i] !== 'exec') ended.add(process(i));
  }
  return places.filter((i) => ended.has(process(i)));
}

/** Whether the process that sampling saw is among those that a part has records of, or is known to be another step's. */
export function toldInPart(material: Material, places: readonly number[]) {
  const { lives } = material;
  const ofStep = stepLives(material);
  const byProcess = Map.groupBy(places, (i) => `${lives!.node[i]} ${lives!.pid[i]}`);
  return ({ node }: NodeMaterial, { keys }: ProcessSeries): boolean => {
    const began = Number(keys.start) * 1000;
    const process = `${node} ${keys.pid}`;
    const own = [...(byProcess.get(process) ?? []), ...(ofStep?.others.get(process) ?? [])];
    // one that was killed has told of its start alone
    const end = (i: number): number => (Number.isNaN(lives!.end[i]!) ? lives!.start[i]! : lives!.end[i]!);
    // samples know the start of the program that this one took over from
    const start = (i: number): number => Math.min(lives!.start[i]!, lives!.birth[i]! || lives!.start[i]!);
    if (ofStep?.mayOwn(began) === false) return true;
    return own.some((i) => began > start(i) - SAME_LIFE && began < end(i) + SAME_LIFE);
  };
}
