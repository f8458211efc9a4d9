import { collectGarbage } from '../../base/collect-garbage.ts';
import { sampling } from '../../base/sampling.ts';

/** When the first samples have been taken. */
const BEGUN_MS = 300;
/** When an agent has begun, and when its start is over. */
const START_MS = [5_000, 20_000];
/** How often it is looked at again: now and then other parts are needed, for a moment. */
const AGAIN_MS = 60_000;
/** Giving back costs as much CPU time as half a minute of sampling: it waits until there is something to give, … */
const WORTH_BYTES = 16 * 2 ** 20;
/** … and twice as many looks as the last time, at most so many. */
const MOST_LOOKS = 64;
/** Of an agent that has more than this, a quarter of that is worth it. */
const ENOUGH_BYTES = 45e6;
/** What is needed with every sample has come back by then. */
const SETTLE_MS = 5_000;

/**
 * Gives back, a while after the start and then whenever memory has grown, the parts of Node's own program file that are
 * not needed all the time: some 20 MB of an agent's memory that would stay with it for days. What is needed again comes
 * back from the file by itself. Garbage goes, too: sinks make some with every message, and V8 would wait until there is more.
 */
export function giveBackStart(): void {
  let least = 0;
  let looks = 0;
  let enough = 1;
  const give = () => {
    giveBack();
    setTimeout(settle, SETTLE_MS).unref();
  };
  const isWorth = (now: number): boolean =>
    least > 0 && now >= Math.max(least + WORTH_BYTES / 4, Math.min(least + WORTH_BYTES, ENOUGH_BYTES));
  const look = () => {
    if (++looks < enough || !isWorth(process.memoryUsage.rss())) return;
    looks = 0;
    enough = Math.min(2 * enough, MOST_LOOKS);
    give();
  };
  const settle = () => {
    const now = process.memoryUsage.rss();
    least = least > 0 ? Math.min(least, now) : now;
  };
  dropProgram();
  setTimeout(dropProgram, BEGUN_MS).unref();
  for (const after of START_MS) setTimeout(give, after).unref();
  setInterval(look, AGAIN_MS).unref();
}

function giveBack(): void {
  // collecting garbage needs parts that are not there any more
  dropProgram();
  collectGarbage();
  sampling()?.trimHeap();
  dropProgram();
}

/**
 * What Node's start, or a step of an agent's, needed of its program file would stay in memory. A millisecond later only what is
 * needed now is there again. Without a C compiler it all stays.
 */
export function dropProgram(): void {
  sampling()?.dropProgram();
}
