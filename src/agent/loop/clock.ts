/** A jump of the wall clock, seen by comparing it with the clock that never jumps. */
export interface Jump {
  time: number;
  seconds: number;
}

/** Below this a difference is drift that the system's time service mends; above it the clock was set. */
const JUMP_MS = 500;
const DRIFT_MS = 2;

export interface Clock {
  /** Epoch microseconds. */
  now(): number;
  readonly jumps: Jump[];
  /** By how many microseconds the wall clock was set since this one took its word: others' moments are so much later. */
  ahead(): number;
  /** Takes the wall clock's word again, when nothing is being recorded that would be torn by it. */
  settle(): void;
}

/**
 * Wall-clock time in microseconds. The system's own is only good to a millisecond from here, so the monotonic clock
 * carries it on from there. When somebody sets the wall clock, time simply goes on here: a recording whose times jump has
 * wrong rates and durations. Jumps are kept in `jumps`.
 */
export function wallClock(wall: () => number = Date.now, steady: () => number = () => performance.now()): Clock {
  let offset = wall() - steady();
  /** By how much the wall clock was set since it was last believed. */
  let ahead = 0;
  const jumps: Jump[] = [];
  const now = (): number => {
    const carried = offset + steady();
    const difference = wall() - ahead - carried;
    if (Math.abs(difference) < DRIFT_MS) return Math.round(carried * 1000);
    if (Math.abs(difference) < JUMP_MS) {
      offset += difference;
      return Math.round((carried + difference) * 1000);
    }
    ahead += difference;
    const time = Math.round(carried * 1000);
    jumps.push({ time, seconds: difference / 1000 });
    return time;
  };
  return {
    now,
    jumps,
    ahead() {
      now();
      return Math.round(ahead * 1000);
    },
    settle() {
      offset += ahead;
      ahead = 0;
    },
  };
}

/** The next moment after `now` that is a whole multiple of the interval, and `offset` after it; all in microseconds. */
export function nextTick(now: number, interval: number, offset = 0): number {
  return (Math.floor((now - offset) / interval) + 1) * interval + offset;
}
