import * as fs from 'node:fs';
import { replaceJson } from '../../recording/folder/replace.ts';

export type EndedCgroups = ReturnType<typeof endedCgroups>;

/**
 * The jobs that have ended although their cgroup is still there, by id. They are remembered in `file`, so that the next agent on the node does not take them for jobs that begin. What cannot be
 * written is known to this agent alone.
 */
export function endedCgroups(file?: string) {
  /** '': its cgroup was not looked at yet. */
  const cgroups = new Map<string, string>(read(file));
  let written = JSON.stringify([...cgroups]);

  function write(): void {
    const now = JSON.stringify([...cgroups]);
    if (file === undefined || now === written) return;
    try {
      replaceJson(file, Object.fromEntries(cgroups));
      written = now;
    } catch {
      // tried again with the next change
    }
  }

  return {
    add: (id: string) => void cgroups.set(id, cgroups.get(id) ?? ''),
    delete: (id: string) => void cgroups.delete(id),
    has: (id: string) => cgroups.has(id),
    clear: () => cgroups.clear(),
    /** Forgets jobs whose cgroup has gone or is another one by now (`identity`), and writes down what has changed. */
    keep(identity: (id: string) => string | undefined): void {
      for (const [id, before] of cgroups) {
        const now = identity(id);
        // version 1 has several folders for a job, which do not go at the same time
        if (now === undefined || (placeOf(now) === placeOf(before) && now !== before)) cgroups.delete(id);
        else cgroups.set(id, now);
      }
      write();
    },
  };
}

const placeOf = (identity: string): string => identity.slice(0, identity.lastIndexOf(' '));

function read(file: string | undefined): [string, string][] {
  try {
    const storedCgroups: unknown = file === undefined ? {} : JSON.parse(fs.readFileSync(file, 'utf8'));
    return Object.entries(storedCgroups as object).filter(([, value]) => typeof value === 'string');
  } catch {
    return [];
  }
}
