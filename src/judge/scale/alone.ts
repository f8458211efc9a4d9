import type { Intervals } from '../../base/intervals.ts';
import type { Material } from '../../query/material.ts';

/** Threads with less of the job's CPU time than this do not count: a shell that waits runs beside every program. */
const LITTLE = 0.01;
/** Together they must be no more than this. */
const LITTLE_TOGETHER = 0.05;

/**
 * When at most one working thread existed, by the records of processes and threads: in this time nothing can have run in
 * parallel. Epoch microseconds. Undefined: some processes did not record themselves to their end.
 */
export function aloneTimes(material: Material): Intervals | undefined {
  const { processes: set, job } = material;
  const threads = material.threads?.();
  if (set === undefined || threads === undefined || job.end === undefined) return undefined;
  const lifetimes: { from: number; to: number; cpu: number }[] = [];
  const recorded = new Uint8Array(set.length);
  for (let k = 0; k < threads.length; k++) {
    recorded[threads.process[k]!] = 1;
    lifetimes.push({ from: threads.start[k]!, to: threads.end[k]!, cpu: threads.cpu_time[k]! || 0 });
  }
  for (let i = 0; i < set.length; i++) {
    if (recorded[i] === 1) continue;
    const life = { from: set.start[i]!, to: set.end[i]!, cpu: set.cpu_time[i]! || 0 };
    // of its threads nobody knows anything but their number: as if all lived as long
    const count = set.threads[i]! > 1 ? 2 : 1;
    for (let n = 0; n < count; n++) lifetimes.push({ ...life, cpu: life.cpu / count });
  }
  const total = lifetimes.reduce((sum, { cpu }) => sum + cpu, 0);
  const working = lifetimes.filter(({ cpu }) => cpu >= LITTLE * total);
  const left = total - working.reduce((sum, { cpu }) => sum + cpu, 0);
  if (!(total > 0) || left > LITTLE_TOGETHER * total) return undefined;
  if (working.some(({ from, to }) => !(to >= from))) return undefined;
  return timesBelowTwo(working, job.start, job.end);
}

/** When fewer than two of them were there. */
function timesBelowTwo(lifetimes: readonly { from: number; to: number }[], start: number, end: number): Intervals {
  const events = lifetimes
    .flatMap(({ from, to }) => [
      { time: Math.max(start, from), change: 1 },
      { time: Math.min(end, to), change: -1 },
    ])
    .sort((a, b) => a.time - b.time);
  const alone: [number, number][] = [];
  let [alive, last] = [0, start];
  const add = (to: number): void => {
    if (alive >= 2 || to <= last) return;
    if (alone.at(-1)?.[1] === last) alone.at(-1)![1] = to;
    else alone.push([last, to]);
  };
  for (const { time, change } of events) {
    add(time);
    alive += change;
    last = Math.max(last, time);
  }
  add(end);
  return alone;
}
