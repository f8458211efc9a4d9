/** What the lines have said so far of a process. */
export interface Known {
  /** When its current image started, epoch microseconds. */
  start: number;
  /** Who started the process, which may have ended since: its id in rows, and its name in lines. */
  ppid: number;
  parent: string;
  /** The line of its start. */
  line: Buffer;
  /** Another process told of it; it has said nothing itself. */
  told: boolean;
  /** What it was before it was to execute a program: it still is, if that failed. */
  before?: Known | undefined;
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
export const keptOverExec = (
  known: Known | undefined,
): Pick<Known, 'childrenUser' | 'childrenSystem' | 'peakBefore'> => ({
  ...(known?.childrenUser === undefined ? {} : { childrenUser: known.childrenUser }),
  ...(known?.childrenSystem === undefined ? {} : { childrenSystem: known.childrenSystem }),
  ...(known?.peakBefore === undefined ? {} : { peakBefore: known.peakBefore }),
});

export interface KnownProcesses {
  /** Those that have not told of their end, by their names. */
  readonly living: ReadonlyMap<string, Known>;
  begin(pid: string, known: Known): void;
  end(pid: string, start: number): void;
  /** Nothing more is to be said of it. */
  leave(pid: string): void;
  /** Its parent has waited for it. True: there is nothing to add to what was said, or that cannot be told. */
  done(pid: string): boolean;
  /** Has it told of its end, or was it waited for? */
  isOver(pid: string): boolean;
  /** Has an image that started then or later told of its end? */
  endedSince(pid: string, start: number): boolean;
  /** A child has ended: with what it used and what its own children did. */
  childUsed(parent: string, user: number, system: number): void;
}

/** More processes at once are rare; those that nobody waits for must not fill the memory, nor their lines, in bytes. */
const MOST = 8192;
const MOST_BYTES = 8 << 20;

const sizeOf = (known: Known | undefined): number =>
  known === undefined ? 0 : known.line.length + (known.before?.line.length ?? 0);

/** Remembers processes, so that what others tell of them finds its place. `resumed`: lines of before are unknown. */
export function knownProcesses(resumed: boolean): KnownProcesses {
  const living = new Map<string, Known>();
  const over = new Map<string, number>();
  let forgetful = resumed;
  let bytes = 0;

  function limit(map: Map<string, unknown>, forget: (oldest: string) => void): void {
    if (map.size <= MOST && (map !== living || bytes <= MOST_BYTES)) return;
    forgetful = true;
    // many at once: the first of a map is found slowly when those before it were removed
    let left = Math.ceil(map.size / 8);
    for (const oldest of map.keys()) {
      if (left-- === 0) return;
      forget(oldest);
    }
  }

  function forgetLiving(pid: string): void {
    bytes -= sizeOf(living.get(pid));
    living.delete(pid);
  }

  function end(pid: string, start: number): void {
    forgetLiving(pid);
    over.delete(pid);
    over.set(pid, start);
    limit(over, (oldest) => over.delete(oldest));
  }

  return {
    living,
    begin(pid, known) {
      forgetLiving(pid);
      over.delete(pid);
      living.set(pid, known);
      bytes += sizeOf(known);
      limit(living, forgetLiving);
    },
    end,
    leave: (pid) => end(pid, Number.POSITIVE_INFINITY),
    done: (pid) => over.has(pid) || forgetful,
    isOver: (pid) => over.has(pid),
    endedSince: (pid, start) => (over.get(pid) ?? Number.NEGATIVE_INFINITY) >= start,
    childUsed(parent, user, system) {
      const known = living.get(parent);
      if (known === undefined || Number.isNaN(user + system)) return;
      known.childrenUser = (known.childrenUser ?? 0) + user;
      known.childrenSystem = (known.childrenSystem ?? 0) + system;
    },
  };
}
