import * as fs from 'node:fs';
import * as path from 'node:path';
import { eventually } from './made/eventually.ts';

/** The files of a cgroup that limit and count memory, in both versions. */
const FILES = {
  1: {
    limit: 'memory.limit_in_bytes',
    noSwap: 'memory.swappiness',
    now: 'memory.usage_in_bytes',
    peak: 'memory.max_usage_in_bytes',
    kills: 'memory.oom_control',
    anonymous: /^total_rss (\d+)$/m,
  },
  2: {
    limit: 'memory.max',
    noSwap: 'memory.swap.max',
    now: 'memory.current',
    peak: 'memory.peak',
    kills: 'memory.events',
    anonymous: /^anon (\d+)$/m,
  },
} as const;

const V1 = '/sys/fs/cgroup/memory';
const V2 = '/sys/fs/cgroup';
const hasV2 = (): boolean => {
  const delegated = path.join(V2, 'cgroup.subtree_control');
  return fs.existsSync(delegated) && fs.readFileSync(delegated, 'utf8').split(/\s/).includes('memory');
};

/** Where cgroups for memory can be made here; or why they cannot, in words. */
function placeOfMemory(): { version: 1 | 2; mount: string } | string {
  if (process.getuid!() !== 0) return 'a cgroup of its own needs root';
  if (fs.existsSync(path.join(V1, FILES[1].limit)) || fs.existsSync(path.join(V1, FILES[1].now)))
    return { version: 1, mount: V1 };
  return hasV2() ? { version: 2, mount: V2 } : 'this machine has no cgroups for memory';
}

/** Why no cgroup for memory can be made here; false: it can. */
export const whyNoMemoryCgroup = ((): string | false => {
  const memoryPlace = placeOfMemory();
  return typeof memoryPlace === 'string' && memoryPlace;
})();

let made = 0;

/** A cgroup of its own for memory, with a limit and without swap. */
export class MemoryCgroup {
  readonly folder: string;
  private readonly files: (typeof FILES)[1 | 2];

  constructor(limitBytes?: number) {
    const memoryPlace = placeOfMemory();
    if (typeof memoryPlace === 'string') throw new Error(memoryPlace);
    this.files = FILES[memoryPlace.version];
    this.folder = path.join(memoryPlace.mount, `tacho-memory-${process.pid}-${made++}`);
    fs.mkdirSync(this.folder);
    if (limitBytes !== undefined) fs.writeFileSync(this.file('limit'), String(limitBytes));
    if (fs.existsSync(this.file('noSwap'))) fs.writeFileSync(this.file('noSwap'), '0');
  }

  /** The path of what limits or counts. */
  file(what: 'limit' | 'noSwap' | 'now' | 'peak' | 'kills'): string {
    return path.join(this.folder, this.files[what]);
  }

  /** The words that run a command in it. */
  command(...command: string[]): [string, ...string[]] {
    return ['sh', '-c', 'echo $$ >"$0/cgroup.procs" && exec "$@"', this.folder, ...command];
  }

  /** All that was charged to it at the highest moment: programs' own memory, files that it read first, the kernel's for it. */
  peak(): number {
    return Number(fs.readFileSync(this.file('peak'), 'utf8'));
  }

  /** Programs' own memory now. */
  anonymous(): number {
    return Number(this.files.anonymous.exec(fs.readFileSync(path.join(this.folder, 'memory.stat'), 'utf8'))?.[1]);
  }

  kills(): number {
    return Number(/^oom_kill (\d+)$/m.exec(fs.readFileSync(this.file('kills'), 'utf8'))?.[1]);
  }

  processes(): number[] {
    return fs.readFileSync(path.join(this.folder, 'cgroup.procs'), 'utf8').split('\n').filter(Boolean).map(Number);
  }

  /** Ends what is left in it, and takes it away. */
  async remove(): Promise<void> {
    await eventually(`the end of the processes in ${this.folder}`, () => {
      for (const pid of this.processes()) process.kill(pid, 'SIGKILL');
      try {
        fs.rmdirSync(this.folder);
        return true;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EBUSY') throw error;
        return false;
      }
    });
  }
}
