import * as fs from 'node:fs';
import type { Host } from '../host.ts';
import { ProcessStat, readStatOf } from './stat.ts';

/** What of a process does not change: when it started (clock ticks after boot) and where it comes from. */
export interface Origin {
  readonly start: number;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
}

/** What there is to see of any process on the node. */
export interface ProcessView {
  pids(): readonly number[];
  /** Undefined: there is no such process. */
  origin(pid: number): Origin | undefined;
  /** The user that it runs as. */
  owner(pid: number): number | undefined;
  /** Its name, as the kernel has it. */
  name(pid: number): string | undefined;
  /** A variable in its environment; undefined: it is not there, or may not be read. */
  variable(pid: number, name: string): string | undefined;
}

/** One for all who look at the same moment: what one of them has read the others need not read again. */
export interface SharedView extends ProcessView {
  /** The next look is a new one. */
  forget(): void;
}

/** Everything is read when it is asked for. */
export function processView(host: Host): ProcessView {
  return {
    pids: () => fs.readdirSync(host.path('/proc')).flatMap((name) => (/^\d/.test(name) ? Number(name) : [])),
    origin(pid) {
      const stat = new ProcessStat();
      if (!readStatOf(host, pid, stat)) return undefined;
      const { start, parent, group, session } = stat;
      return { start, parent, group, session };
    },
    owner(pid) {
      try {
        return fs.statSync(host.path(`/proc/${pid}`)).uid;
      } catch {
        return undefined;
      }
    },
    name: (pid) => host.text(`/proc/${pid}/comm`)?.trim(),
    variable(pid, name) {
      const all = `\0${host.text(`/proc/${pid}/environ`) ?? ''}\0`;
      const at = all.indexOf(`\0${name}=`);
      if (at < 0) return undefined;
      const from = at + name.length + 2;
      // the file is read byte by byte as Latin-1; the value may be a path in any language
      return Buffer.from(all.slice(from, all.indexOf('\0', from)), 'latin1').toString('utf8');
    },
  };
}

/** What was read holds so long, should nobody say that a new look begins. */
const HOLDS_MS = 1000;

export function sharedView(host: Host, now: () => number = () => performance.now()): SharedView {
  const direct = processView(host);
  const caches: Map<number, unknown>[] = [];
  const variables = new Map<string, (pid: number) => string | undefined>();
  let since = Number.NEGATIVE_INFINITY;
  const forget = (): void => {
    for (const cache of caches) cache.clear();
  };
  function once<T>(read: (pid: number) => T): (pid: number) => T {
    const cache = new Map<number, T>();
    caches.push(cache);
    return (pid) => {
      const time = now();
      if (time - since > HOLDS_MS) {
        forget();
        since = time;
      }
      if (!cache.has(pid)) cache.set(pid, read(pid));
      return cache.get(pid)!;
    };
  }
  const pids = once(() => direct.pids());
  return {
    pids: () => pids(0),
    origin: once(direct.origin),
    owner: once(direct.owner),
    name: once(direct.name),
    variable(pid, name) {
      if (!variables.has(name))
        variables.set(
          name,
          once((of) => direct.variable(of, name)),
        );
      return variables.get(name)!(pid);
    },
    forget() {
      forget();
      since = now();
    },
  };
}
