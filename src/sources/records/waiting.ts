const KINDS = ['fork', 'exec', 'told', 'exit'] as const;
type Kind = (typeof KINDS)[number];

/**
 * The lines of one process that wait for what follows. fork: the start of a forked child, which most often executes another
 * program at once and then has nothing to tell. exec: an end by exec, which may fail, and then the image lives on. told: what
 * another process, or the image before, told of it; most often it speaks for itself. exit: an end whose exit code only the
 * parent knows.
 */
export type HeldLines = Partial<Record<Kind, Buffer>> & { isOld: boolean };

/** Of lines that wait for others no more than this is kept, in bytes: then the oldest wait no longer. */
const MOST = 4 << 20;
/** What an entry costs besides its lines, about. */
const ENTRY = 256;

export class WaitingLines {
  private readonly held = new Map<string, HeldLines>();
  private bytes = 0;
  private readonly letGo: (pid: string, lines: HeldLines, exitcode?: number) => void;

  /** `letGo` is called with the lines of a process that wait no longer. */
  constructor(letGo: (pid: string, lines: HeldLines, exitcode?: number) => void) {
    this.letGo = letGo;
  }

  has(pid: string): boolean {
    return this.held.has(pid);
  }

  get(pid: string, kind: Kind): Buffer | undefined {
    return this.held.get(pid)?.[kind];
  }

  add(pid: string, kind: Kind, line: Buffer): void {
    const lines = this.held.get(pid) ?? { isOld: false };
    if (!this.held.has(pid)) this.bytes += ENTRY;
    this.bytes += line.length - (lines[kind]?.length ?? 0);
    lines[kind] = line;
    lines.isOld = false;
    this.held.set(pid, lines);
    if (this.bytes > MOST) this.releaseOldest(pid);
  }

  /** Many at once: the first of a map is found slowly when those before it were removed. */
  private releaseOldest(current: string): void {
    for (const oldest of [...this.held.keys()]) {
      if (this.bytes < MOST * (15 / 16)) return;
      if (oldest !== current) this.release(oldest);
    }
  }

  /** One line waits no longer, and is forgotten. */
  drop(pid: string, kind: Kind): void {
    const lines = this.held.get(pid);
    this.bytes -= lines?.[kind]?.length ?? 0;
    delete lines?.[kind];
  }

  forget(pid: string): void {
    const lines = this.held.get(pid);
    if (lines === undefined) return;
    this.held.delete(pid);
    this.bytes -= ENTRY;
    for (const kind of KINDS) this.bytes -= lines[kind]?.length ?? 0;
  }

  release(pid: string, exitcode?: number): void {
    const lines = this.held.get(pid);
    if (lines === undefined) return;
    this.forget(pid);
    this.letGo(pid, lines, exitcode);
  }

  /** Those of a read before the last one, or everything. */
  releaseSeen(everything: boolean): void {
    for (const [pid, lines] of [...this.held]) {
      if (everything || lines.isOld) this.release(pid);
      else lines.isOld = true;
    }
  }
}
