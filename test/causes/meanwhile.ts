import * as fs from 'node:fs';
import * as os from 'node:os';
import { OURS } from './cgroup.ts';

/** What the machine did besides a case while it ran. */
export interface Meanwhile {
  /** Share of the time in which its CPUs had work that a hypervisor took. */
  stolen?: number;
  /** Share of all its CPUs that programs used which are not of this run. */
  others?: number;
  /** Those that used most of it. */
  by?: string[];
}

interface Reading {
  moment: number;
  busy: number;
  stolen: number;
  /** Ticks of CPU time of programs that are not of this run, by name, their ended children included. */
  others: Map<string, number>;
}

/** Ticks in a second, in /proc. */
const HZ = 100;
const INIT = 1;
/** The parent of the kernel's own threads, which may work for the case: writing what it wrote, for one. */
const KTHREADD = 2;

/** Starts to look; the result says what happened from then on. */
export function watchMachine(): () => Meanwhile {
  const before = reading();
  return () => {
    const after = reading();
    const used = [...after.others]
      .map(([program, ticks]) => ({ program, ticks: ticks - (before.others.get(program) ?? 0) }))
      .concat(
        [...before.others].flatMap(([program, ticks]) => (after.others.has(program) ? [] : { program, ticks: -ticks })),
      );
    const possible = ((after.moment - before.moment) / 1000) * HZ * os.cpus().length;
    const all = used.reduce((sum, { ticks }) => sum + ticks, 0);
    return {
      stolen: (after.stolen - before.stolen) / Math.max(1, after.busy - before.busy),
      others: Math.max(0, all) / Math.max(1, possible),
      by: used
        .filter(({ ticks }) => ticks > 0)
        .sort((a, b) => b.ticks - a.ticks)
        .slice(0, 3)
        .map(({ program }) => program),
    };
  };
}

function reading(): Reading {
  const [user, nice, system, , , irq, softirq, stolen] = fs
    .readFileSync('/proc/stat', 'utf8')
    .split('\n', 1)[0]!
    .split(/\s+/)
    .slice(1)
    .map(Number) as [number, number, number, number, number, number, number, number];
  const busy = user + nice + system + irq + softirq + stolen;
  return { moment: performance.now(), busy, stolen, others: othersUse() };
}

function othersUse(): Map<string, number> {
  const use = new Map<string, number>();
  for (const name of fs.readdirSync('/proc')) {
    const pid = Number(name);
    if (!(pid > 0)) continue;
    try {
      if (fs.readFileSync(`/proc/${pid}/cgroup`, 'utf8').includes(OURS)) continue;
      const { program, ticks, isKernel } = useOf(fs.readFileSync(`/proc/${pid}/stat`, 'utf8'), pid);
      if (isKernel) continue;
      use.set(program, (use.get(program) ?? 0) + ticks);
    } catch {
      // it has ended
    }
  }
  return use;
}

/** CPU time by /proc/PID/stat; what ended below a process counts as its own. Init inherits children of this run, too. */
export function useOf(stat: string, pid: number): { program: string; ticks: number; isKernel: boolean } {
  const end = stat.lastIndexOf(')');
  const fields = stat
    .slice(end + 2)
    .split(' ')
    .map(Number);
  const [user, system, childrenUser, childrenSystem] = fields.slice(11, 15) as [number, number, number, number];
  const ticks = user + system + (pid === INIT ? 0 : childrenUser + childrenSystem);
  const isKernel = pid === KTHREADD || fields[1] === KTHREADD;
  return { program: stat.slice(stat.indexOf('(') + 1, end), ticks, isKernel };
}
