import type { Host, KeptFile } from '../host.ts';
import { type SourceKind, Unavailable } from '../source.ts';
import { type CgroupAbove, lastRow, watchAbove } from './above.ts';
import { CGROUP_FILES, type CgroupFile, quotaOfVersion1 } from './files.ts';
import { folderOf, type Hierarchy, hierarchies, pathIn, unreadable } from './mounts.ts';
import { cgroupTable } from './table.ts';
import { type CgroupTree, watchTree } from './tree.ts';

/** How far below the job's cgroup is recorded: the steps, and what they consist of. */
const DEPTH = 2;
/** More cgroups than this at once are not recorded: a job of thousands of steps is told by its whole. */
const MOST = 64;
/** Limits are read at every so many ticks. */
const SLOW = 10;

const { cgroup: CGROUP, oom_kills: KILLS, cpu_limit: CPU_LIMIT } = cgroupTable.at;

/** A hierarchy in which the job has a cgroup. */
interface Place {
  readonly hierarchy: Hierarchy;
  readonly folder: string;
  readonly tree: CgroupTree;
}

interface Group {
  /** Relative to the job's cgroup; '' is the job itself. */
  readonly path: string;
  readonly files: readonly { readonly how: CgroupFile; readonly file: KeptFile }[];
  readonly values: Float64Array;
  fresh: boolean;
  /** Version 1: the folder with the CPU quota. */
  readonly quotaFolder: string | undefined;
  /** Version 1 counts a kill only where it happened, so that those below must be added, also of cgroups that have gone. */
  readonly addsKills: boolean;
  killsOfGone: number;
}

export const cgroup: SourceKind = {
  table: cgroupTable,
  open(host, scope) {
    if (scope.cgroup === undefined) throw new Unavailable('absent', 'the job has no cgroup of its own');
    const { path, shared } = scope.cgroup;
    const cgroupPlaces: Place[] = hierarchies(host).flatMap((hierarchy) => {
      const folder = folderOf(host, hierarchy, pathIn(hierarchy, scope.cgroup!));
      // what lies below a shared cgroup is not the job's
      return folder === undefined ? [] : [{ hierarchy, folder, tree: watchTree(host, folder, shared ? 0 : DEPTH) }];
    });
    const groups = new Map<string, Group>();
    let changed = true;
    let ticks = 0;
    const above = shared ? undefined : aboveOf(host, cgroupPlaces);

    function update(): void {
      for (const { tree } of cgroupPlaces) if (tree.update()) changed = true;
      if (!changed) return;
      changed = false;
      const now = new Set(cgroupPlaces.flatMap(({ tree }) => tree.folders));
      for (const group of [...groups.values()]) if (!now.has(group.path)) end(group);
      for (const below of [...now].sort()) {
        if (groups.has(below)) continue;
        if (groups.size >= MOST) {
          const why = `more than ${MOST} cgroups at once; the job as a whole is recorded`;
          host.note({ table: cgroupTable.name, what: 'some steps', why });
          break;
        }
        const group = openGroup(host, cgroupPlaces, below);
        if (group !== undefined) groups.set(below, group);
      }
    }

    function end(group: Group): void {
      for (const { file } of group.files) file.close();
      groups.delete(group.path);
      let above = parentOf(group.path);
      while (above !== '' && !groups.has(above)) above = parentOf(above);
      const heir = groups.get(above);
      if (heir !== undefined) heir.killsOfGone += (group.values[KILLS] || 0) + group.killsOfGone;
    }

    update();
    if (groups.size === 0) throw unreadable(host, path);

    return {
      table: cgroupTable,
      read(frame) {
        const whole = groups.get('');
        update();
        const slowly = ticks++ % SLOW === 0;
        for (const group of groups.values()) {
          if (readGroup(host, group, slowly)) continue;
          end(group);
          // perhaps only a controller was taken away: look again what is there
          changed = true;
        }
        for (const group of groups.values()) {
          const row = frame.row();
          const at = row * frame.numberWidth;
          frame.numbers.set(group.values, at);
          frame.texts[row * frame.textWidth + CGROUP] = group.path === '' ? '.' : group.path;
          if (group.addsKills) frame.numbers[at + KILLS] = allKills(groups, group);
        }
        const rest = whole === undefined || groups.has('') ? undefined : above?.rest();
        if (rest !== undefined) {
          const row = frame.row();
          frame.numbers.set(lastRow(whole!.values, rest), row * frame.numberWidth);
          frame.texts[row * frame.textWidth + CGROUP] = '.';
        } else if (groups.has('')) above?.note();
      },
      close() {
        above?.close();
        for (const group of groups.values()) for (const { file } of group.files) file.close();
        groups.clear();
      },
    };
  },
};

/** By the hierarchy that counts CPU time; version 1 first, as in a group. */
function aboveOf(host: Host, cgroupPlaces: readonly Place[]): CgroupAbove | undefined {
  const counts = ({ hierarchy, folder }: Place): boolean =>
    host.exists(`${folder}/${hierarchy.version === 2 ? 'cpu.stat' : 'cpuacct.usage'}`);
  const nearestPlace = [...cgroupPlaces].reverse().find(counts);
  return nearestPlace === undefined ? undefined : watchAbove(host, nearestPlace.folder, nearestPlace.hierarchy.version);
}

function openGroup(host: Host, cgroupPlaces: readonly Place[], below: string): Group | undefined {
  const files: { how: CgroupFile; file: KeptFile }[] = [];
  const taken = new Set<string>();
  let quotaFolder: string | undefined;
  // version 1 first: on a machine with both, controllers lie there and version 2 has only what is left
  for (const { hierarchy, folder } of [...cgroupPlaces].reverse()) {
    const here = below === '' ? folder : `${folder}/${below}`;
    if (hierarchy.controllers.includes('cpu') && host.exists(`${here}/cpu.cfs_quota_us`)) quotaFolder = here;
    for (const how of CGROUP_FILES) {
      if (how.version !== hierarchy.version) continue;
      if (how.version === 1 && !hierarchy.controllers.includes(how.controller)) continue;
      if (how.instead !== undefined && host.exists(`${here}/${how.instead}`)) continue;
      if (how.version === 2 && how.name === 'cpu.stat' && taken.has('cpuacct.usage')) continue;
      const file = host.tryKeep(`${here}/${how.name}`);
      if (file === undefined) continue;
      // some can be opened but not read (pressure that is switched off)
      if (tryRead(file) < 0) file.close();
      else {
        files.push({ how, file });
        taken.add(how.name);
      }
    }
  }
  if (files.length === 0) return undefined;
  return {
    path: below,
    files,
    values: new Float64Array(cgroupTable.columns.length).fill(Number.NaN),
    fresh: true,
    quotaFolder,
    addsKills: taken.has('memory.oom_control'),
    killsOfGone: 0,
  };
}

/** Brings the values up to date; false when the cgroup, or a part of it, has gone. */
function readGroup(host: Host, group: Group, slowly: boolean): boolean {
  const all = slowly || group.fresh;
  group.fresh = false;
  for (const { how, file } of group.files) {
    if (how.slow && !all) continue;
    const length = tryRead(file);
    if (length < 0) return false;
    how.read(host, length, group.values);
  }
  if (all && group.quotaFolder !== undefined) group.values[CPU_LIMIT] = quotaOfVersion1(host, group.quotaFolder);
  return true;
}

function tryRead(file: KeptFile): number {
  try {
    return file.read();
  } catch {
    return -1;
  }
}

function allKills(groups: ReadonlyMap<string, Group>, group: Group): number {
  let sum = group.values[KILLS]! + group.killsOfGone;
  const prefix = group.path === '' ? '' : `${group.path}/`;
  for (const other of groups.values()) {
    if (other !== group && other.path.startsWith(prefix)) sum += (other.values[KILLS] || 0) + other.killsOfGone;
  }
  return sum;
}

const parentOf = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf('/')));
