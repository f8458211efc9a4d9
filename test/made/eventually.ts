import { setTimeout as sleep } from 'node:timers/promises';

/** What a test waits for is expected at once; a loaded machine may need minutes. */
const SECONDS = 180;
/** So many milliseconds it pauses at most. */
const MOST_PAUSE = 1000;

/**
 * Waits until `condition` returns something that is neither false nor undefined, and returns that; fails with `what` it
 * waited for. What the condition throws ends the wait: `eventually('the second row', () => rows().length >= 2)`.
 */
export async function eventually<T>(
  what: string | (() => string),
  condition: () => T | Promise<T>,
  seconds = SECONDS,
): Promise<Exclude<T, false | undefined>> {
  // not Date: some tests set the clock
  const limit = performance.now() + seconds * 1000;
  for (let pause = 5; ; pause = Math.min(2 * pause, 50)) {
    const asked = performance.now();
    const value = await condition();
    if (value !== false && value !== undefined) return value as Exclude<T, false | undefined>;
    if (performance.now() > limit) {
      throw new Error(`waited ${seconds} s in vain for ${typeof what === 'string' ? what : what()}`);
    }
    // what takes long to find out is asked less often: others need the processor
    await sleep(Math.max(pause, Math.min(4 * (performance.now() - asked), MOST_PAUSE)));
  }
}
