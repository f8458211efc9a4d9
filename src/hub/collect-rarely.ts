import { setFlagsFromString } from 'node:v8';

/** The first time when all is loaded: V8 takes code that it compiled earlier only with the usual options. */
const LOOK_MS = 10_000;
/** A heap that is larger than this grows as V8 decides. */
const SMALL_BYTES = 64 * 2 ** 20;
/** Percent of what was left by the last collection. */
const GROWTH = 200;

/**
 * A hub with few nodes has a small heap, of which the texts of one round of a sink are a third: V8 would look through all of it
 * every second, for half of what sending on costs. Such a heap may grow to three times its size before that.
 */
export function collectRarely(
  set: (flag: string) => void = setFlagsFromString,
  heapBytes = () => process.memoryUsage().heapUsed,
): void {
  let growth = 0;
  setInterval(() => {
    const wanted = heapBytes() < SMALL_BYTES ? GROWTH : 0;
    if (wanted !== growth) set(`--heap-growing-percent=${wanted}`);
    growth = wanted;
  }, LOOK_MS).unref();
}
