import { type Clock, nextTick } from './clock.ts';

/** Calls when ticks are due. Ticks are whole multiples of their interval, and an offset after them. */
export interface Ticker {
  /** Microseconds. */
  readonly offset?: number;
  /** Microseconds between ticks. Returns how to end it. */
  every(interval: number, tick: (now: number, due: number) => void): () => void;
}

interface Follower {
  readonly interval: number;
  readonly tick: (now: number, due: number) => void;
  due: number;
}

/** One timer for all who tick here: those whose ticks fall together are called with the same time. */
export function ticker(
  clock: Clock,
  around: { before?: (now: number) => void; after?: () => void; failed?: (error: unknown) => void } = {},
  offset = 0,
): Ticker {
  const followers = new Set<Follower>();
  let timer: NodeJS.Timeout | undefined;

  const schedule = (): void => {
    clearTimeout(timer);
    timer = undefined;
    const now = clock.now();
    let due = Number.POSITIVE_INFINITY;
    for (const follower of followers) {
      // further away than its next tick can be: the clock was set back meanwhile
      if (follower.due - now > follower.interval) follower.due = nextTick(now, follower.interval, offset);
      due = Math.min(due, follower.due);
    }
    if (followers.size > 0) timer = setTimeout(fire, Math.max(0, (due - now) / 1000));
  };

  const fire = (): void => {
    const now = clock.now();
    let called = false;
    around.before?.(now);
    for (const follower of [...followers]) {
      const { due, interval } = follower;
      // timers may fire a little early: that tick is still to come; further away, the clock was set back
      if ((now < due && due - now < interval) || !followers.has(follower)) continue;
      called = true;
      try {
        follower.tick(now, due);
      } catch (error) {
        // whoever shares the ticks goes on
        if (around.failed === undefined) throw error;
        around.failed(error);
      }
      follower.due = nextTick(clock.now(), interval, offset);
    }
    if (called) around.after?.();
    schedule();
  };

  return {
    offset,
    every(interval, tick) {
      const follower = { interval, tick, due: nextTick(clock.now(), interval, offset) };
      followers.add(follower);
      schedule();
      return () => {
        followers.delete(follower);
        schedule();
      };
    },
  };
}
