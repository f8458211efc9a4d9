import { type Clock, nextTick } from './clock.ts';

/** Calls when ticks are due. Ticks are whole multiples of their interval, and an offset after them. */
export interface Ticker {
  /** Microseconds. */
  readonly offset?: number;
  /** Microseconds between ticks. Who ticks alone may `rest` meanwhile. Returns how to end it. */
  every(interval: number, tick: (now: number, due: number) => void, rest?: Resting): () => void;
  /** Something has changed for who rests. */
  again?(): void;
}

/** Somebody else does the ticks while nothing happens. */
export interface Resting {
  /** False: not now. `wake` with the tick that he does not do, and its time if he has begun it. */
  arm(due: number, wake: (due: number, begun: number | undefined) => void): boolean;
  /** The tick that is due next, if he had it. */
  disarm(): number | undefined;
}

interface Follower {
  readonly interval: number;
  readonly tick: (now: number, due: number) => void;
  readonly rest: Resting | undefined;
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
      follower.due = follower.rest?.disarm() ?? follower.due;
      // further away than its next tick can be: the clock was set back meanwhile
      if (follower.due - now > follower.interval) follower.due = nextTick(now, follower.interval, offset);
      due = Math.min(due, follower.due);
    }
    const [alone] = followers.size === 1 && Object.keys(around).length === 0 ? followers : [];
    const isResting = alone?.rest?.arm(due, (due, begun) => {
      alone.due = due;
      fire(begun);
    });
    if (followers.size > 0 && isResting !== true) timer = setTimeout(fire, Math.max(0, (due - now) / 1000));
  };

  const fire = (begun?: number): void => {
    const now = begun ?? clock.now();
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
    every(interval, tick, rest) {
      const follower = { interval, tick, rest, due: nextTick(clock.now(), interval, offset) };
      followers.add(follower);
      schedule();
      return () => {
        rest?.disarm();
        followers.delete(follower);
        schedule();
      };
    },
    again: schedule,
  };
}
