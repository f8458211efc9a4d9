import { code } from '../../base/fault.ts';
import { lineEnd, number, spells } from '../digits.ts';
import type { Host } from '../host.ts';
import { processTable } from './table.ts';

/** What smaller processes share matters little. */
export const LARGE_BYTES = 16 << 20;
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

/**
 * When to read what each process has of memory, where what several share counts once in all (proportional set size):
 * only where there are several large ones, all of them at the same tick so that they can be added up, and rarely.
 */
export class PssRounds<P extends { readonly pid: number }> {
  private readonly host: Host;
  private readonly rssOf: (one: P) => number;
  private readonly now: () => number;
  private readonly large: P[] = [];
  private readonly sizes: number[] = [];
  private sum = 0;
  private largest = 0;
  private sumRead = 0;
  private again = AGAIN;
  private lastRound = Number.NEGATIVE_INFINITY;
  /** What it may take now, as of the last round. */
  private allowedMs = AT_ONCE_MS;
  private isLast = false;

  constructor(host: Host, rssOf: (one: P) => number, now: () => number = cpuMilliseconds) {
    this.host = host;
    this.rssOf = rssOf;
    this.now = now;
  }

  /** Before the processes of a tick. */
  begin(): void {
    this.large.length = 0;
    this.sum = 0;
    this.largest = 0;
  }

  saw(one: P): void {
    const rss = this.rssOf(one);
    if (!(rss >= LARGE_BYTES)) return;
    this.large.push(one);
    this.sum += rss;
    this.largest = Math.max(this.largest, rss);
  }

  /** After them: whether there are several large ones. */
  isWorthwhile(): boolean {
    return this.large.length > 1 && this.sum - this.largest >= this.largest * OTHERS_PART;
  }

  /** Names what each of the large ones has. */
  read(time: number, measured: (one: P, pss: number) => void): void {
    // the smallest show first how long all would take
    this.large.sort((a, b) => this.rssOf(a) - this.rssOf(b));
    this.sizes.length = 0;
    const start = this.now();
    let took = 0;
    let read = 0;
    let counted = 0;
    let isWhole = true;
    for (const one of this.large) {
      const pss = this.pssOf(one.pid);
      this.sizes.push(pss);
      read += this.rssOf(one);
      if (pss !== FAILED) counted += pss;
      took = this.now() - start;
      if ((took / read) * this.sum > LONGEST_MS) {
        isWhole = read === this.sum;
        break;
      }
    }
    this.allowedMs = this.allowed(time) - took;
    this.lastRound = time;
    this.sumRead = this.sum;
    this.again = !isWhole || counted > this.sum * (1 - SHARED_PART) ? LITTLE_SHARED : AGAIN;
    if (isWhole) for (const [i, pss] of this.sizes.entries()) if (pss !== FAILED) measured(this.large[i]!, pss);
    if (!isWhole)
      this.note('the processes are so large that reading it takes too long', 'a cgroup of its own counts it');
  }

  /** The next tick is the last one. */
  last(): void {
    this.isLast = true;
  }

  isTime(time: number): boolean {
    if (!this.isWorthwhile()) return false;
    // a clock that was set back starts anew
    if (time < this.lastRound) return true;
    if (this.allowed(time) <= 0) return false;
    return (
      time >= this.lastRound + this.again.microseconds || this.sum > this.sumRead * this.again.grown || this.isLast
    );
  }

  private allowed(time: number): number {
    return Math.min(AT_ONCE_MS, this.allowedMs + Math.max(0, ((time - this.lastRound) / 1000) * TIME_PART));
  }

  /** Bytes; FAILED when it cannot be read. */
  private pssOf(pid: number): number {
    try {
      const file = this.host.keep(`/proc/${pid}/smaps_rollup`, true);
      try {
        const end = file.read();
        for (let from = 0; from < end; ) {
          const stop = lineEnd(this.host.bytes, from, end);
          if (stop < end && spells(this.host.bytes, from, PSS))
            return number(this.host.bytes, from + PSS.length, stop) * 1024;
          from = stop + 1;
        }
      } finally {
        file.close();
      }
    } catch (error) {
      this.noteWhy(code(error));
    }
    return FAILED;
  }

  private noteWhy(what: string | undefined): void {
    const isAbsent = what === 'ENOENT' && !this.host.exists('/proc/self/smaps_rollup');
    if (what === 'EACCES' || what === 'EPERM')
      this.note('/proc/PID/smaps_rollup: permission denied', 'record as the user who runs the job, or as root');
    else if (isAbsent) this.note('this kernel has no /proc/PID/smaps_rollup', 'Linux 4.14 or later has it');
  }

  private note(why: string, hint: string): void {
    this.host.note({ table: processTable.name, what: 'memory that processes share', why, hint });
  }
}
