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
}

/**
 * Wall-clock time in microseconds. The system's own is only good to a millisecond from here, so the monotonic clock
 * carries it on from there; jumps of the wall clock are followed, and kept in `jumps`.
 */
export function wallClock(wall: () => number = Date.now, steady: () => number = () => performance.now()): Clock {
  let offset = wall() - steady();
  const jumps: Jump[] = [];
  return {
    jumps,
    now() {
      const carried = offset + steady();
      const difference = wall() - carried;
      if (Math.abs(difference) < DRIFT_MS) return Math.round(carried * 1000);
      offset += difference;
      if (Math.abs(difference) >= JUMP_MS) {
        jumps.push({ time: Math.round((carried + difference) * 1000), seconds: difference / 1000 });
      }
      return Math.round((carried + difference) * 1000);
    },
  };
}

/** The next moment after `now` that is a whole multiple of the interval, both in microseconds. */
export function nextTick(now: number, interval: number): number {
  return (Math.floor(now / interval) + 1) * interval;
}
