import { folderOf, hierarchies } from '../../sources/cgroup/mounts.ts';
import type { Host } from '../../sources/host.ts';

/**
 * A cgroup that something may be counted by. job: a batch system made it for one job. container: everything in this
 * container. other: a login session or a service, which serves other things too.
 */
export interface OwnCgroup {
  readonly path: string;
  readonly of: 'job' | 'container' | 'other';
}

/** What batch systems call the cgroup of a job; all that is below (steps, tasks) belongs to the job. */
const JOBS: readonly RegExp[] = [
  // Slurm: /slurm/uid_1000/job_17/step_0, /system.slice/slurmstepd.scope/job_17/step_0/user/task_0
  /^.*\/(?:uid_\d+|[^/]*slurmstepd\.scope)\/job_\d+(?=\/|$)/,
  // PBS: /pbs_jobs.service/jobid/17.server, /pbspro.slice/pbspro-17.server.slice, /pbspro/17.server; Torque: /torque/17.server
  /^.*\/pbs[^/]*\/jobid\/[^/]+/,
  /^.*\/pbs[^/]*\.slice\/pbs[^/]*\.slice/,
  /^.*\/(?:torque|pbspro|pbs_jobs)\/\d[^/]*/,
  // LSF: /lsf/cluster1/job.17.4242.1700000000
  /^.*\/lsf\/[^/]+\/job\.[^/]+/,
  // Flux, where jobs run as units of systemd: …/imp-shell-0-ƒ2WXyz.service
  /^.*\/(?:imp-)?shell-\d+-[^/]+\.service/,
];

const CONTAINERS = /\/kubepods|\/(?:docker|lxc)\/|(?:docker|libpod|crio|containerd)-[0-9a-f]{12,}/;

/** The cgroup of this process that tells most: its job's, else its container's, else whatever it is in. */
export function ownCgroup(host: Host): OwnCgroup | undefined {
  const paths = ownPaths(host);
  for (const path of paths) {
    for (const pattern of JOBS) {
      const job = pattern.exec(path)?.[0];
      if (job !== undefined) return { path: job, of: 'job' };
    }
  }
  const container = paths.find((path) => CONTAINERS.test(path)) ?? insideContainer(host, paths);
  if (container !== undefined) return { path: container, of: 'container' };
  const other = paths.find((path) => path !== '/');
  return other === undefined ? undefined : { path: other, of: 'other' };
}

/** The innermost cgroup of this process below its job's: its step's or task's. */
export const innermostCgroup = (host: Host): string | undefined =>
  ownCgroup(host)?.of === 'job' ? ownPaths(host)[0] : undefined;

/** The cgroup that a batch system made for this job, wherever we are ourselves. */
export function cgroupOfJob(host: Host, scheduler: string, id: string): OwnCgroup | undefined {
  for (const hierarchy of hierarchies(host)) {
    const inside = hierarchy.root === '/' ? '' : hierarchy.root;
    const below = (path: string, name: RegExp): string[] =>
      host
        .list(hierarchy.mount + path)
        .filter((n) => name.test(n))
        .map((n) => `${path}/${n}`);
    const candidates =
      scheduler === 'slurm'
        ? [
            ...below('/system.slice', /slurmstepd\.scope$/),
            ...below('', /^slurm/).flatMap((top) => below(top, /^uid_\d+$/)),
          ].map((top) => `${top}/job_${id}`)
        : scheduler === 'pbs'
          ? ['/pbs_jobs.service/jobid', '/pbspro.service/jobid', '/pbspro', '/torque'].flatMap((top) =>
              below(top, /^\d/).filter((p) => p.slice(top.length + 1).split('.')[0] === id.split('.')[0]),
            )
          : [];
    const path = candidates.find((c) => host.exists(hierarchy.mount + c));
    if (path !== undefined) return { path: inside + path, of: 'job' };
  }
  return undefined;
}

/** Version 1: this process' path in the hierarchy that has CPU quotas, where it is below the root. */
export function ownCpuPath(host: Host): string | undefined {
  const path = ownLines(host).find(({ controllers }) => controllers.includes('cpu'))?.path;
  return path === '/' ? undefined : path;
}

/** This process' paths in the hierarchies, the one of memory first, then version 2, then systemd's. */
function ownPaths(host: Host): string[] {
  const rank = (controllers: string[]): number => {
    const at = ['memory', '', 'name=systemd'].findIndex((c) => controllers.includes(c));
    return at < 0 ? 3 : at;
  };
  const ordered = ownLines(host)
    .sort((a, b) => rank(a.controllers) - rank(b.controllers))
    .map((l) => l.path);
  return [...new Set(ordered)];
}

function ownLines(host: Host): { controllers: string[]; path: string }[] {
  return (host.text('/proc/self/cgroup') ?? '').split('\n').flatMap((line) => {
    const [, controllers, path] = /^\d+:([^:]*):(\/.*)$/.exec(line) ?? [];
    return controllers === undefined || path === undefined ? [] : [{ controllers: controllers.split(','), path }];
  });
}

/** In a cgroup namespace a container sees its own cgroup as '/'. The true root has neither limits nor events. */
function insideContainer(host: Host, paths: readonly string[]): string | undefined {
  const marked = ['/.dockerenv', '/run/.containerenv', '/run/secrets/kubernetes.io'].some((p) => host.exists(p));
  for (const hierarchy of hierarchies(host)) {
    if (hierarchy.root !== '/' && !hierarchy.root.startsWith('/..')) return hierarchy.root;
    const folder = folderOf(host, hierarchy, '/');
    if (folder === undefined) continue;
    if (hierarchy.version === 2 && host.exists(`${folder}/cgroup.events`)) return '/';
    if (hierarchy.version === 1 && marked && paths.every((path) => path === '/')) return '/';
  }
  return undefined;
}
