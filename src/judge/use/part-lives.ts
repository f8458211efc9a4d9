import { imageAt } from '../../query/processes/on-node.ts';
import { isSameProcess, KERNEL_CLOCK } from '../../sources/process/same-process.ts';
import type { Material, NodeMaterial, ProcessSeries } from '../facts/material.ts';
import { stepLives } from './step-lives.ts';

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
  return ({ node }: NodeMaterial, { keys, end }: ProcessSeries): boolean => {
    const birth = Number(keys.start) * 1000;
    if (ofStep?.mayOwn(birth) === false) return true;
    const process = `${node} ${keys.pid}`;
    const own = [...(byProcess.get(process) ?? []), ...(ofStep?.others.get(process) ?? [])];
    const sampled = { pid: Number(keys.pid), birth, start: birth, last: end };
    return own.some((i) => isSameProcess(sampled, imageAt(lives!, i)));
  };
}
