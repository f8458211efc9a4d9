import { forgetOldest } from '../../base/forget-oldest.ts';
import { stated } from '../../base/stated.ts';

/** What the lines have said so far of a process. */
export interface RecordedProcess {
  /** When its current image started, epoch microseconds. */
  start: number;
  /** Who started the process, which may have ended since: its id in rows, and its name in lines. */
  ppid: number;
  parent: string;
  /** The line of its start. */
  line: Buffer;
  /** Another process told of it; it has said nothing itself. */
  isReportedByParent: boolean;
  /** What it was before it was to execute a program: it still is, if that failed. */
  before?: RecordedProcess | undefined;
  /** It has told of its end, but not how. */
  ended?: boolean;
  /** CPU time of its children that have ended, theirs included, in microseconds. */
  childrenUser?: number;
  childrenSystem?: number;
  /** The largest resident set of the programs that it was before, in KiB: the kernel keeps it for those who wait. */
  peakBefore?: number;
  /** What the library wrote in this process so far, and what of it before the current image: the kernel counts it. */
  wrote: Written;
  wroteBefore: Written;
}

export interface Written {
  bytes: number;
  calls: number;
}

export const NOTHING: Written = { bytes: 0, calls: 0 };

/** What a process has used stays when it executes another program. */
export const keptOverExec = ({ childrenUser, childrenSystem, peakBefore }: Partial<RecordedProcess> = {}) =>
  stated({ childrenUser, childrenSystem, peakBefore });

/** More processes at once are rare; those that nobody waits for must not fill the memory, nor their lines, in bytes. */
const MOST = 8192;
const MOST_BYTES = 8 << 20;

const sizeOf = (process: RecordedProcess | undefined): number =>
  process === undefined ? 0 : process.line.length + (process.before?.line.length ?? 0);

/** Remembers processes, so that what others tell of them finds its place. */
export class RecordedProcesses {
  /** Those that have not told of their end, by their names. */
  readonly living = new Map<string, RecordedProcess>();
  private readonly over = new Map<string, number>();
  private forgetful: boolean;
  private bytes = 0;

  /** `resumed`: lines of before are unknown. */
  constructor(resumed: boolean) {
    this.forgetful = resumed;
  }

  begin(pid: string, process: RecordedProcess): void {
    this.forget(pid);
    this.over.delete(pid);
    this.living.set(pid, process);
    this.bytes += sizeOf(process);
    if (this.living.size <= MOST && this.bytes <= MOST_BYTES) return;
    this.forgetful = true;
    forgetOldest(this.living, (oldest) => this.forget(oldest));
  }

  private forget(pid: string): void {
    this.bytes -= sizeOf(this.living.get(pid));
    this.living.delete(pid);
  }

  end(pid: string, start: number): void {
    this.forget(pid);
    this.over.delete(pid);
    this.over.set(pid, start);
    if (this.over.size <= MOST) return;
    this.forgetful = true;
    forgetOldest(this.over);
  }

  /** Nothing more is to be said of it. */
  leave(pid: string): void {
    this.end(pid, Number.POSITIVE_INFINITY);
  }

  /** Its parent has waited for it. True: there is nothing to add to what was said, or that cannot be told. */
  done(pid: string): boolean {
    return this.over.has(pid) || this.forgetful;
  }

  /** Has it told of its end, or was it waited for? */
  isOver(pid: string): boolean {
    return this.over.has(pid);
  }

  /** Has an image that started then or later told of its end? */
  endedSince(pid: string, start: number): boolean {
    return (this.over.get(pid) ?? Number.NEGATIVE_INFINITY) >= start;
  }

  /** A child has ended: with what it used and what its own children did. */
  childUsed(parent: string, user: number, system: number): void {
    const parentProcess = this.living.get(parent);
    if (parentProcess === undefined || Number.isNaN(user + system)) return;
    parentProcess.childrenUser = (parentProcess.childrenUser ?? 0) + user;
    parentProcess.childrenSystem = (parentProcess.childrenSystem ?? 0) + system;
  }
}
