import * as fs from 'node:fs';
import { made } from '../../base/made.ts';
import { bootMilliseconds } from '../host/boot-time.ts';
import type { Host } from '../host.ts';
import { TICK_MS } from './stat.ts';
import { processView } from './view.ts';

/** A process in another PID namespace than the agent's, as it was seen in /proc. */
export interface InsideProcess {
  readonly pid: number;
  readonly ppid: number;
  /** Epoch milliseconds, in steps of ten. */
  readonly start: number;
}

/** Which process of the node it is that has an id in a namespace of its own, as in a container. */
export interface PidNamespaces {
  /** The agent's own; undefined: not known. */
  readonly own: string | undefined;
  /** What /proc/PID/status has behind `NSpid:` of a process. */
  saw(process: InsideProcess, ids: string): void;
  /** The process with this id in this namespace that began at about `start` (epoch milliseconds), if it was seen. */
  find(id: string, space: string, start: number): InsideProcess | undefined;
  /** What /proc says now is new: the next search may look there again. */
  look(): void;
}

/** From the first instruction of a process to its first line, at most, in milliseconds. */
const LOADING_MS = 2500;
/** Where its namespace may not be read, its start tells a process from others with the same id. */
const CLOSE_MS = 100;
/** Those that have ended are needed until what they wrote is read. */
const MOST = 16_384;

const shared = new WeakMap<Host, PidNamespaces>();

/** One for all who look at the same node: who samples processes and who reads their records. */
export function pidNamespaces(host: Host): PidNamespaces {
  return made(shared, host, () => open(host));
}

function open(host: Host): PidNamespaces {
  const insideProcesses = new Map<string, InsideProcess>();
  const view = processView(host);
  const own = spaceOf('self');
  let looked = false;

  /** Empty: it may not be read, or the process has gone. */
  function spaceOf(pid: number | 'self'): string {
    try {
      return /\d+/.exec(fs.readlinkSync(host.path(`/proc/${pid}/ns/pid`)))?.[0] ?? '';
    } catch {
      return '';
    }
  }

  function saw(process: InsideProcess, ids: string): void {
    const all = ids.trim().split(/\s+/);
    // it begins with the id in the namespace that /proc shows
    if (all.length < 2) return;
    const name = `${all.at(-1)}@${spaceOf(process.pid)}`;
    insideProcesses.delete(name);
    insideProcesses.set(name, process);
    if (insideProcesses.size > MOST) insideProcesses.delete(insideProcesses.keys().next().value!);
  }

  function lookThrough(): void {
    looked = true;
    const boot = bootMilliseconds(host);
    for (const pid of view.pids()) {
      const ids = /^NSpid:(.*)$/m.exec(host.text(`/proc/${pid}/status`) ?? '')?.[1];
      if (ids === undefined || !/\d\s+\d/.test(ids)) continue;
      const origin = view.origin(pid);
      if (origin !== undefined) saw({ pid, ppid: origin.parent, start: boot + origin.start * TICK_MS }, ids);
    }
  }

  function seenAs(id: string, space: string, start: number): InsideProcess | undefined {
    const exact = insideProcesses.get(`${id}@${space}`);
    if (exact !== undefined && Math.abs(exact.start - start) < LOADING_MS) return exact;
    const like = insideProcesses.get(`${id}@`);
    return like !== undefined && Math.abs(like.start - start) < CLOSE_MS ? like : undefined;
  }

  return {
    own: own === '' ? undefined : own,
    saw,
    find(id, space, start) {
      const insideProcess = seenAs(id, space, start);
      if (insideProcess !== undefined || looked) return insideProcess;
      lookThrough();
      return seenAs(id, space, start);
    },
    look() {
      looked = false;
    },
  };
}

/** The kernel gives no larger process id. */
const MOST_PIDS = 4_194_304;
/** The kernel's number of the first PID namespace of a machine; those of others are larger. */
const FIRST_SPACE = 4_026_531_836;

/**
 * The id of a process of another namespace that nobody has seen in /proc: larger than any of the kernel's, so that it is
 * nobody else's. Its id in that namespace is the rest of a division by 4194304.
 */
export function insideId(id: number, space: number): number {
  const offset = space > FIRST_SPACE ? space - FIRST_SPACE : space;
  return offset * MOST_PIDS + id;
}
