/** Work on what jobs have written, a small piece at a time and in turn: whatever is due comes between. */
export interface Turns {
  /** Calls `work` until it returns false. What is waiting already is not added again. */
  add(work: () => boolean): void;
  /** The same; resolves when it is done, or aborted. */
  finish(work: () => boolean, until?: AbortSignal): Promise<void>;
}

/** Share of one CPU that it may use, for all jobs together. */
const SHARE = 1 / 3;
/** Idle time beyond this is not saved up. */
const MOST_REST_MS = 1000;

export function turns(share = SHARE, failed: (error: unknown) => void = () => {}): Turns {
  const waiting = new Set<() => boolean>();
  const ended = new Map<() => boolean, () => void>();
  let timer: NodeJS.Timeout | undefined;
  let left = false;

  function schedule(rest: number): void {
    if (timer !== undefined || waiting.size === 0) return;
    timer = setTimeout(next, rest);
    // who waits for the end keeps the process
    if (ended.size === 0) timer.unref();
  }

  function next(): void {
    timer = undefined;
    const [work] = waiting;
    if (work === undefined) return;
    waiting.delete(work);
    const begin = performance.now();
    let more = false;
    left = false;
    try {
      more = work();
    } catch (error) {
      failed(error);
    }
    if (more && !left) waiting.add(work);
    else done(work);
    schedule(Math.min(MOST_REST_MS, (performance.now() - begin) * (1 / share - 1)));
  }

  function done(work: () => boolean): void {
    ended.get(work)?.();
    ended.delete(work);
  }

  return {
    add(work) {
      waiting.add(work);
      schedule(0);
    },
    finish(work, until) {
      if (until?.aborted) return Promise.resolve();
      return new Promise((resolve) => {
        const leave = (): void => {
          left = !waiting.delete(work);
          done(work);
        };
        until?.addEventListener('abort', leave, { once: true });
        ended.set(work, () => {
          until?.removeEventListener('abort', leave);
          resolve();
        });
        waiting.add(work);
        timer?.ref();
        schedule(0);
      });
    },
  };
}
