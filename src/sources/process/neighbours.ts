import * as path from 'node:path';
import { userNames } from '../host/user-names.ts';
import type { Host } from '../host.ts';
import { ProcessStat, readStatOf, TICK_MS } from './stat.ts';
import { type ProcessView, processView } from './view.ts';

/** A program of somebody on the node that is not the job's, and the CPU time that it used while the node was watched. */
export interface Neighbour {
  user: string;
  /** The file name of its command; where that is hidden, as the kernel has it. */
  program: string;
  cpu_seconds: number;
}

/** Number of neighbours that are named, and the CPU time from which they are. */
const MOST = 5;
const LEAST_SECONDS = 0.1;
/** Parents are followed so far up. */
const DEEPEST = 64;
const LONGEST = 40;

/**
 * Who else uses the CPUs of the node, as far as /proc shows: each look adds what every process used since the last one. A
 * look reads the stat of every process, so it is only taken while more threads want to run than there are CPUs. What starts
 * and ends between two looks is not seen.
 */
export class Neighbours {
  private readonly host: Host;
  private readonly isOwn: (pid: number) => boolean;
  private readonly view: ProcessView;
  private readonly userName: (uid: number) => string;
  private readonly stat = new ProcessStat();
  /** By pid: its start and the CPU time at the last look, in clock ticks. */
  private lastTicks: Map<number, { start: number; ticks: number }> | undefined;
  /** By user and program, in clock ticks. */
  private readonly used = new Map<string, number>();

  /** `isOwn`: processes of the job, and Tacho's own; what they started is theirs. */
  constructor(host: Host, isOwn: (pid: number) => boolean) {
    this.host = host;
    this.isOwn = isOwn;
    this.view = processView(host);
    this.userName = userNames(host);
  }

  look(): void {
    const before = this.lastTicks;
    const now = new Map<number, { start: number; ticks: number }>();
    const parents = new Map<number, number>();
    const busy: { pid: number; ticks: number; name: string }[] = [];
    for (const pid of this.view.pids()) {
      const { stat } = this;
      if (!readStatOf(this.host, pid, stat)) continue;
      const ticks = stat.user + stat.system;
      now.set(pid, { start: stat.start, ticks });
      parents.set(pid, stat.parent);
      const last = before?.get(pid);
      // who came since the last look used all of it meanwhile
      const more = before === undefined ? 0 : ticks - (last?.start === stat.start ? last.ticks : 0);
      if (more > 0)
        busy.push({ pid, ticks: more, name: this.host.bytes.toString('utf8', stat.nameFrom, stat.nameEnd) });
    }
    this.lastTicks = now;
    for (const { pid, ticks, name } of busy) {
      if (this.belongs(pid, parents)) continue;
      const uid = this.view.owner(pid);
      if (uid === undefined) continue;
      const key = `${this.userName(uid)}\t${this.programOf(pid) || name}`;
      this.used.set(key, (this.used.get(key) ?? 0) + ticks);
    }
  }

  /** Programs call their threads as they like, the first one too: all of Node's are "MainThread". */
  private programOf(pid: number): string {
    const [command = ''] = (this.host.text(`/proc/${pid}/cmdline`) ?? '').split('\0', 1);
    return Buffer.from(path.basename(command), 'latin1').toString('utf8').slice(0, LONGEST);
  }

  /** Whether it, or what it comes from, is the job's. */
  private belongs(pid: number, parents: ReadonlyMap<number, number>): boolean {
    let one: number | undefined = pid;
    for (let up = 0; up < DEEPEST && one !== undefined && one > 1; up++) {
      if (this.isOwn(one)) return true;
      one = parents.get(one);
    }
    return false;
  }

  /** Whether there was a look at all. */
  get isWatching(): boolean {
    return this.lastTicks !== undefined;
  }

  /** Those that used most so far. */
  get most(): Neighbour[] {
    return [...this.used]
      .map(([key, ticks]) => {
        const [user, program] = key.split('\t') as [string, string];
        return { user, program, cpu_seconds: (ticks * TICK_MS) / 1000 };
      })
      .filter(({ cpu_seconds }) => cpu_seconds >= LEAST_SECONDS)
      .sort((a, b) => b.cpu_seconds - a.cpu_seconds)
      .slice(0, MOST);
  }
}
