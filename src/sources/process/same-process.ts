/**
 * What one process is. A pid is one process of a node at a time, and is used again when that has ended: so a process is
 * its node, its pid and its birth, which is when the kernel started it, before any exec. Records of a start or an end, what
 * a parent reported and sampled rows are joined by `isSameProcess`, with the tolerances of this file and no others
 * (docs/processes.md, "What is the same process"). All of them are microseconds.
 */

/** The kernel tells births in ticks of 10 ms, and boot time is computed from two clocks. */
export const KERNEL_CLOCK = 50_000;

/** From the birth of a process to its first record, where it starts at once: the dynamic linker, a busy node. */
export const RECORD_DELAY = 0.1e6;

/**
 * The same at most: a parent that ended so long before the first record of its child was alive when it was born, and a
 * process that ended so long ago had its pid.
 */
export const LONGEST_RECORD_DELAY = 0.5e6;

/** Samples tell births by a boot time of whole seconds, where the kernel's clocks disagree, and ends to a tick. */
export const SAMPLE_CLOCK = 1.5e6;

/** From exec to the first record of the new program, at most, where nothing but its pid tells that they are one process. */
const LONGEST_LOADING = 10e6;

/** Schedulers tell whole seconds, by a clock that is not the node's. */
export const SCHEDULER_CLOCK = 2e6;

/** A process that lives has a sampled row once a minute, here with some patience. */
export const LONGEST_SILENCE = 90e6;

/**
 * A peak of memory that is higher than another one by this factor is not the same peak. Less may be what a program grew by
 * after it was sampled, or after it had recorded its own peak and before it executed the next.
 */
export const HIGHER_PEAK = 1.05;

/** One record of a program image, or several of the same process in one. Epoch microseconds. */
export interface ImageRecord {
  /** When it began to record itself, or its parent reported it. */
  start: number;
  /** When the kernel started its process, in ticks after boot and as a time; NaN: its records do not say. */
  ticks: number;
  birth: number;
  /** When its end was recorded; NaN: it was not. */
  end: number;
  /** It ended by executing another program. */
  isExec: boolean;
  /** Only its parent reported it. */
  isReported: boolean;
  ppid: number;
}

/**
 * Whether the image `next` is of the same process as `before`, the last image of its pid on its node. The kernel's birth
 * decides where both have it. Where only `next` has it, that must lie before `before` began: the pid cannot have been
 * anybody else's. Else `before` must have executed another program, or have no end and the same parent, just before.
 */
export function isNextImage(before: ImageRecord, next: ImageRecord): boolean {
  if (!Number.isNaN(before.ticks) && !Number.isNaN(next.ticks)) return before.ticks === next.ticks;
  if (!Number.isNaN(next.birth)) return next.birth <= before.start + KERNEL_CLOCK;
  if (!Number.isNaN(before.end)) return before.isExec && next.start - before.end < LONGEST_LOADING;
  // who reports a program that it spawned may not say whose child that is
  return (before.isReported || before.ppid === next.ppid) && next.start - before.start < LONGEST_LOADING;
}

/** Whether two births of one pid that the kernel told are one; NaN: whoever has the pid. */
export const isSameBirth = (a: number, b: number): boolean => !(Math.abs(a - b) > KERNEL_CLOCK);

/** Whether an image that began to record itself at `start` is the first of the process with that birth. */
export const isFirstImage = (start: number, birth: number): boolean => Math.abs(start - birth) <= RECORD_DELAY;

/** One source's observation of a process of a node. Epoch microseconds. */
export interface Observation {
  pid: number;
  /** When the kernel started it, as well as this source knows. */
  birth: number;
  /** When this source has it from: a process may record itself long after its birth. */
  start: number;
  /** When it was alive last, as far as this source knows. */
  last: number;
}

/**
 * Whether two observations on one node, one of them by samples, are of the same process: the same pid, and born at the same
 * time, or the older one still lived when the other was observed first, so that nobody else can have had the pid.
 */
export function isSameProcess(a: Observation, b: Observation): boolean {
  if (a.pid !== b.pid) return false;
  if (Math.abs(a.birth - b.birth) < SAMPLE_CLOCK) return true;
  const [older, younger] = a.birth < b.birth ? [a, b] : [b, a];
  return older.last > younger.start - SAMPLE_CLOCK;
}

/** Of each sampled process the recorded one that is the same: of several the one with the closest birth, each only once. */
export function joinObservations<R extends Observation, S extends Observation>(
  recorded: readonly R[],
  sampled: readonly S[],
): Map<S, R> {
  const same = new Map<S, R>();
  if (sampled.length === 0) return same;
  const free = Map.groupBy(recorded, ({ pid }) => pid);
  for (const one of sampled) {
    const candidates = free.get(one.pid) ?? [];
    const away = (each: R): number => Math.abs(each.birth - one.birth);
    const [best] = candidates.filter((each) => isSameProcess(one, each)).sort((a, b) => away(a) - away(b));
    if (best === undefined) continue;
    same.set(one, best);
    candidates.splice(candidates.indexOf(best), 1);
  }
  return same;
}
