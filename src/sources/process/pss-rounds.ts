import { code } from '../../base/fault.ts';
import { lineEnd, number, spells } from '../digits.ts';
import type { Host } from '../host.ts';
import { processTable } from './table.ts';

/** What smaller processes share matters little. */
const LARGE_BYTES = 16 << 20;
/** Counting apart matters when the others have so much of the largest. */
const OTHERS_PART = 0.1;
/** All are read again after so long, or when they have so many times as much together. */
const AGAIN = { microseconds: 10e6, grown: 1.1 };
/** Where they share less than this, adding up is nearly right: later. */
const SHARED_PART = 0.1;
const LITTLE_SHARED = { microseconds: 60e6, grown: 1.5 };
/** The kernel walks all pages of a process and holds its memory map meanwhile: reading takes 1 % of the time, and so much at once. */
const TIME_PART = 0.01;
const AT_ONCE_MS = 100;
/** A round that would hold up the other samples for longer is given up. */
const LONGEST_MS = 500;

const PSS = Buffer.from('Pss:');
const FAILED = -1;

/** CPU time of this thread: what others take of the CPU meanwhile is no cost of ours. */
function cpuMilliseconds(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

export interface PssRounds<P> {
  /** Before the processes of a tick. */
  begin(): void;
  saw(one: P): void;
  /** After them: whether there are several large ones. */
  isWorthwhile(): boolean;
  isTime(time: number): boolean;
  /** Names what each of the large ones has. */
  read(time: number, found: (one: P, pss: number) => void): void;
  /** The next tick is the last one. */
  last(): void;
}

/**
 * When to read what each process has of memory, where what several share counts once in all (proportional set size):
 * only where there are several large ones, all of them at the same tick so that they can be added up, and rarely.
 */
export function pssRounds<P extends { readonly pid: number }>(
  host: Host,
  rssOf: (one: P) => number,
  now: () => number = cpuMilliseconds,
): PssRounds<P> {
  const large: P[] = [];
  const sizes: number[] = [];
  let sum = 0;
  let largest = 0;
  let sumRead = 0;
  let again = AGAIN;
  let lastRound = Number.NEGATIVE_INFINITY;
  /** What it may take now, as of the last round. */
  let allowedMs = AT_ONCE_MS;
  let isLast = false;

  const isWorthwhile = (): boolean => large.length > 1 && sum - largest >= largest * OTHERS_PART;

  function isTime(time: number): boolean {
    if (!isWorthwhile()) return false;
    // a clock that was set back starts anew
    if (time < lastRound) return true;
    if (allowed(time) <= 0) return false;
    return time >= lastRound + again.microseconds || sum > sumRead * again.grown || isLast;
  }

  const allowed = (time: number): number =>
    Math.min(AT_ONCE_MS, allowedMs + Math.max(0, ((time - lastRound) / 1000) * TIME_PART));

  /** Bytes; FAILED when it cannot be read. */
  function pssOf(pid: number): number {
    try {
      const file = host.keep(`/proc/${pid}/smaps_rollup`, true);
      try {
        const end = file.read();
        for (let from = 0; from < end; ) {
          const stop = lineEnd(host.bytes, from, end);
          if (stop < end && spells(host.bytes, from, PSS)) return number(host.bytes, from + PSS.length, stop) * 1024;
          from = stop + 1;
        }
      } finally {
        file.close();
      }
    } catch (error) {
      noteWhy(code(error));
    }
    return FAILED;
  }

  function noteWhy(what: string | undefined): void {
    const isAbsent = what === 'ENOENT' && !host.exists('/proc/self/smaps_rollup');
    if (what === 'EACCES' || what === 'EPERM')
      note('/proc/PID/smaps_rollup: permission denied', 'record as the user who runs the job, or as root');
    else if (isAbsent) note('this kernel has no /proc/PID/smaps_rollup', 'Linux 4.14 or later has it');
  }

  function note(why: string, hint: string): void {
    host.note({ table: processTable.name, what: 'memory that processes share', why, hint });
  }

  return {
    begin() {
      large.length = 0;
      sum = 0;
      largest = 0;
    },
    saw(one) {
      const rss = rssOf(one);
      if (!(rss >= LARGE_BYTES)) return;
      large.push(one);
      sum += rss;
      largest = Math.max(largest, rss);
    },
    isWorthwhile,
    isTime,
    read(time, found) {
      // the smallest show first how long all would take
      large.sort((a, b) => rssOf(a) - rssOf(b));
      sizes.length = 0;
      const start = now();
      let took = 0;
      let read = 0;
      let counted = 0;
      let isWhole = true;
      for (const one of large) {
        const pss = pssOf(one.pid);
        sizes.push(pss);
        read += rssOf(one);
        if (pss !== FAILED) counted += pss;
        took = now() - start;
        if ((took / read) * sum > LONGEST_MS) {
          isWhole = read === sum;
          break;
        }
      }
      allowedMs = allowed(time) - took;
      lastRound = time;
      sumRead = sum;
      again = !isWhole || counted > sum * (1 - SHARED_PART) ? LITTLE_SHARED : AGAIN;
      if (isWhole) for (const [i, pss] of sizes.entries()) if (pss !== FAILED) found(large[i]!, pss);
      if (!isWhole) note('the processes are so large that reading it takes too long', 'a cgroup of its own counts it');
    },
    last() {
      isLast = true;
    },
  };
}
