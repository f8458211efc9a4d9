import { folderOf, hierarchies, ofController } from '../../sources/cgroup/mounts.ts';
import { Host } from '../../sources/host.ts';
import { ownCgroup } from './own-cgroup.ts';

/** How deep the cgroups of a job lie in each other: job, step, task, and what a program makes below. */
const MOST_LEVELS = 6;

/** Processes that the kernel has killed so far in a cgroup, because memory ran out. */
export interface MemoryKills {
  cgroup: string;
  kills: number;
}

/** Those in the cgroup of the job that this process is in. Undefined: nobody counts them. */
export function countMemoryKills(host = new Host()): MemoryKills | undefined {
  const cgroup = ownCgroup(host)?.path;
  const kills = cgroup === undefined ? undefined : killsOf(host, cgroup);
  return kills === undefined ? undefined : { cgroup: cgroup!, kills };
}

function killsOf(host: Host, path: string): number | undefined {
  const all = hierarchies(host);
  const memory = ofController(all, 'memory');
  if (memory !== undefined) {
    const folder = folderOf(host, memory, path);
    return folder === undefined ? undefined : killsBelow(host, folder, MOST_LEVELS);
  }
  const unified = all.find(({ version }) => version === 2);
  const folder = unified && folderOf(host, unified, path);
  return folder === undefined ? undefined : killsIn(host, `${folder}/memory.events`);
}

/** Version 1 counts a kill only in the cgroup of the process itself. */
function killsBelow(host: Host, folder: string, levels: number): number | undefined {
  const own = killsIn(host, `${folder}/memory.oom_control`);
  if (own === undefined || levels === 0) return own;
  let kills = own;
  for (const name of host.list(folder)) kills += killsBelow(host, `${folder}/${name}`, levels - 1) ?? 0;
  return kills;
}

function killsIn(host: Host, file: string): number | undefined {
  const [, kills] = /^oom_kill (\d+)$/m.exec(host.text(file) ?? '') ?? [];
  return kills === undefined ? undefined : Number(kills);
}

/** What launchers say of a process of theirs that was killed because memory ran out. */
export const isMemoryKill = (line: string): boolean => /\boom[-_ ]?kill|\bout of memory\b/i.test(line);
