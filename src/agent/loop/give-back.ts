import * as fs from 'node:fs';
import { collectGarbage } from '../../base/collect-garbage.ts';

const MADV_DONTNEED = 4;
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
  const give = async () => {
    await giveBack();
    setTimeout(settle, SETTLE_MS).unref();
  };
  const isWorth = (now: number): boolean =>
    least > 0 && now >= Math.max(least + WORTH_BYTES / 4, Math.min(least + WORTH_BYTES, ENOUGH_BYTES));
  const look = () => {
    if (++looks < enough || !isWorth(process.memoryUsage.rss())) return;
    looks = 0;
    enough = Math.min(2 * enough, MOST_LOOKS);
    void give();
  };
  const settle = () => {
    const now = process.memoryUsage.rss();
    least = least > 0 ? Math.min(least, now) : now;
  };
  for (const after of START_MS) setTimeout(() => void give(), after).unref();
  setInterval(look, AGAIN_MS).unref();
}

async function giveBack(): Promise<void> {
  try {
    const { default: koffi } = await import('koffi');
    const libc = koffi.load('libc.so.6');
    collectGarbage();
    libc.func('int malloc_trim(size_t pad)')(0);
    const madvise = libc.func('int madvise(uintptr_t address, size_t length, int advice)');
    for (const { from, to } of programParts(
      fs.readFileSync('/proc/self/smaps', 'latin1'),
      fs.realpathSync(process.execPath),
    )) {
      madvise(from, to - from, MADV_DONTNEED);
    }
  } catch {
    // it is only a saving
  }
}

/** Where a program's file is mapped, read-only and as it is on disk: only there is nothing lost when it is dropped. */
export function programParts(smaps: string, program: string): { from: number; to: number }[] {
  const ranges: { from: number; to: number }[] = [];
  for (const [, from, to, rights, file, facts] of smaps.matchAll(MAPPING)) {
    // the loader has written addresses into some parts before they were made read-only
    const untouched = /^Anonymous: +0 kB$/m.test(facts!) && /^Private_Dirty: +0 kB$/m.test(facts!);
    if (file === program && rights!.startsWith('r-') && untouched) {
      ranges.push({ from: Number.parseInt(from!, 16), to: Number.parseInt(to!, 16) });
    }
  }
  return ranges;
}

/** A line with addresses, rights and file, then lines of facts about it. */
const MAPPING = /^([0-9a-f]+)-([0-9a-f]+) (\S{4}) \S+ \S+ \d+ *(.*)\n((?:[A-Z]\w+:.*\n)+)/gm;
