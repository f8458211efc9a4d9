import { setFlagsFromString } from 'node:v8';
import { sampling } from '../../base/sampling.ts';

/** The first time when all is loaded: V8 takes code that it compiled earlier only with the usual options. */
const LOOK_MS = 10_000;
/** Who uses more of a processor than this has the compilers. */
const BUSY = 0.02;

const COMPILERS = ['turbofan', 'maglev'];

/**
 * Where C does what happens at every tick, V8's optimising compilers have nothing to gain: without them an agent has 8 MB less
 * of Node's program file in memory, and 2 MB less of its own. One that gets busy (a build starts thousands of processes, a
 * sink is slow) has them as long as it is. Returns what gives them back for good.
 */
export function spareCompilers(set: (flag: string) => void = setFlagsFromString): () => void {
  if (sampling() === null) return () => {};
  let areUsed = true;
  const use = (wanted: boolean): void => {
    if (wanted === areUsed) return;
    areUsed = wanted;
    for (const name of COMPILERS) set(wanted ? `--${name}` : `--no-${name}`);
  };
  let before = { used: process.cpuUsage(), time: performance.now() };
  const timer = setInterval(() => {
    const now = { used: process.cpuUsage(), time: performance.now() };
    use(isBusy(before, now));
    before = now;
  }, LOOK_MS).unref();
  return () => {
    clearInterval(timer);
    use(true);
  };
}

interface Moment {
  used: NodeJS.CpuUsage;
  /** Milliseconds. */
  time: number;
}

function isBusy(before: Moment, now: Moment): boolean {
  const used = now.used.user + now.used.system - before.used.user - before.used.system;
  return used > (now.time - before.time) * 1000 * BUSY;
}
