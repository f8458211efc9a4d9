import { folderOf, hierarchies, unreadable } from '../cgroup/mounts.ts';
import { type CgroupTree, watchTree } from '../cgroup/tree.ts';
import { number, scan } from '../digits.ts';
import type { Host, KeptFile } from '../host.ts';
import type { PidCounter } from './pid-counter.ts';
import type { ProcessView } from './view.ts';

/** Names the pids that come into question. */
export interface Lister {
  /** Calls `visit` for each; false when nobody can have come since the last time, and nobody was visited. */
  list(visit: (pid: number) => void): boolean;
  /** While nobody is started on the node nobody can come. */
  readonly followsStarts: boolean;
  close(): void;
}

/** All processes are listed at least so often, whatever the pid counter says: some containers fake it. */
const LIST_ANYWAY = 10;
const DEEPEST = 32;

/** Every process on the node; the first time only those since `root`, which has just been started. */
export function listProcesses(view: ProcessView, counter: PidCounter, root?: number): Lister {
  let calls = 0;
  return {
    list(visit): boolean {
      if (calls++ % LIST_ANYWAY !== 0 && !counter.moved) return false;
      const since = calls === 1 ? root : undefined;
      for (const pid of view.pids())
        if (since === undefined || pid === since || counter.isAfter(pid, since)) visit(pid);
      return true;
    },
    followsStarts: true,
    close: () => {},
  };
}

/** Every process in a cgroup and in those below it. */
export function listCgroup(host: Host, path: string): Lister {
  const cgroupFolder = findCgroup(host, path);
  if (cgroupFolder === undefined) throw unreadable(host, path);
  const { folder, version } = cgroupFolder;
  const tree: CgroupTree = watchTree(host, folder, DEEPEST);
  const kept = new Map<string, KeptFile>();

  /** Version 1 gives an open file the same list for up to a second: only a new one is sure to be up to date. */
  function open(below: string): KeptFile | undefined {
    const name = below === '' ? `${folder}/cgroup.procs` : `${folder}/${below}/cgroup.procs`;
    if (version === 1) return host.tryKeep(name);
    let file = kept.get(below);
    if (file === undefined) {
      file = host.tryKeep(name);
      if (file !== undefined) kept.set(below, file);
    }
    return file;
  }

  function forget(below: string): void {
    kept.get(below)?.close();
    kept.delete(below);
  }

  let pids = new Float64Array(256);
  return {
    list(visit): boolean {
      if (tree.update()) for (const below of [...kept.keys()]) if (!tree.folders.includes(below)) forget(below);
      let count = 0;
      for (const below of tree.folders) {
        const file = open(below);
        if (file === undefined) continue;
        let end = -1;
        try {
          end = file.read();
        } catch {
          // threaded cgroups of version 2 do not list processes; their parent does
        }
        if (version === 1) file.close();
        else if (end < 0) forget(below);
        // visitors read other files into the same bytes: take the numbers out first
        for (let at = 0; at < end; at = scan.at) {
          const pid = number(host.bytes, at, end);
          if (!(pid > 0)) continue;
          if (count === pids.length) {
            const grown = new Float64Array(count * 2);
            grown.set(pids);
            pids = grown;
          }
          pids[count++] = pid;
        }
      }
      for (let i = 0; i < count; i++) visit(pids[i]!);
      return true;
    },
    // processes are also moved between cgroups
    followsStarts: false,
    close(): void {
      for (const file of kept.values()) file.close();
      kept.clear();
    },
  };
}

/** The hierarchy in which a cgroup's processes are listed. Of version 1 any will do; batch systems always use the freezer. */
function findCgroup(host: Host, path: string): { folder: string; version: 1 | 2 } | undefined {
  const rank = (controllers: readonly string[]) =>
    ['freezer', 'memory', 'cpuset', 'cpuacct'].findIndex((c) => controllers.includes(c)) >>> 0;
  const hierarchyFolders = hierarchies(host)
    .sort((a, b) => b.version - a.version || rank(a.controllers) - rank(b.controllers))
    .map((h) => ({ folder: folderOf(host, h, path), version: h.version }));
  for (const { folder, version } of hierarchyFolders) if (folder !== undefined) return { folder, version };
  return undefined;
}
