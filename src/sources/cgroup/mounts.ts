import type { Host } from '../host.ts';
import type { Scope } from '../scope.ts';
import { Unavailable } from '../source.ts';

/** One cgroup hierarchy as it is mounted here: the one of version 2, or one for each controller of version 1. */
export interface Hierarchy {
  readonly version: 1 | 2;
  /** Version 1: `memory`, `cpuacct`, `name=systemd`… Version 2 has one hierarchy for all; a folder's files say what it has. */
  readonly controllers: readonly string[];
  readonly mount: string;
  /** The part that the mount shows: '/' is all of it, in some containers it is the container's own path. */
  readonly root: string;
}

/** Every cgroup hierarchy that is mounted, version 2 first. */
export function hierarchies(host: Host): Hierarchy[] {
  const hierarchyList: Hierarchy[] = [];
  const seenNames = new Set<string>();
  for (const line of (host.text('/proc/self/mountinfo') ?? '').split('\n')) {
    const [front, back] = line.split(' - ');
    if (front === undefined || back === undefined) continue;
    const [type, , options = ''] = back.split(' ');
    if (type !== 'cgroup' && type !== 'cgroup2') continue;
    const [, , , root = '/', mount = ''] = front.split(' ');
    const version = type === 'cgroup2' ? 2 : 1;
    const controllers =
      version === 2 ? [] : options.split(',').filter((o) => o !== 'rw' && o !== 'ro' && o !== 'xattr');
    // the same hierarchy may be mounted again elsewhere
    const name = `${version} ${controllers.join()}`;
    if (seenNames.has(name)) continue;
    seenNames.add(name);
    hierarchyList.push({ version, controllers, mount: plain(mount), root: plain(root) });
  }
  return hierarchyList.sort((a, b) => b.version - a.version);
}

/** Where a cgroup (its path as in /proc/PID/cgroup) lies in the file system; undefined when it is not to be seen here. */
export function folderOf(host: Host, hierarchy: Hierarchy, path: string): string | undefined {
  const inside = insideOf(hierarchy, path);
  if (inside === undefined) return undefined;
  const folder = inside === '/' || inside === '' ? hierarchy.mount : hierarchy.mount + inside;
  return host.exists(folder) ? folder : undefined;
}

/** The path of a job's cgroup in a hierarchy. */
export const pathIn = ({ controllers }: Hierarchy, { path, cpu }: NonNullable<Scope['cgroup']>): string =>
  controllers.includes('cpu') ? (cpu ?? path) : path;

/** Where a cgroup lies below what the mount shows; undefined when it lies elsewhere. */
function insideOf({ root }: Hierarchy, path: string): string | undefined {
  if (root === '/' || root.startsWith('/..')) return path;
  return path === root || path.startsWith(`${root}/`) ? path.slice(root.length) : undefined;
}

/** Why nothing of a job's cgroup can be read here: only where it cannot be seen does a mount help. */
export function unreadable(host: Host, path: string): Unavailable {
  const all = hierarchies(host);
  const cgroup = `the job's cgroup ${path}`;
  // of one outside the own cgroup namespace the path begins so
  const shown = path.startsWith('/..') ? [] : all.filter((hierarchy) => insideOf(hierarchy, path) !== undefined);
  if (shown.length === 0) {
    const why = all.length === 0 ? 'no cgroup file system is mounted here' : 'what is mounted here does not show it';
    return new Unavailable(
      'denied',
      `${cgroup} cannot be read: ${why}`,
      'mount the cgroup file system where the job runs',
    );
  }
  if (shown.some((hierarchy) => folderOf(host, hierarchy, path) !== undefined))
    return new Unavailable('denied', `${cgroup} cannot be read`);
  return new Unavailable('denied', `${cgroup} had gone before it could be read`);
}

/** The hierarchy that has a controller of version 1. */
export function ofController(all: readonly Hierarchy[], controller: string): Hierarchy | undefined {
  return all.find((h) => h.controllers.includes(controller));
}

/** mountinfo writes blanks and backslashes as \040 and the like. */
function plain(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
}
