import { folderOf, hierarchies, pathIn } from '../../sources/cgroup/mounts.ts';
import { countList } from '../../sources/host/facts.ts';
import type { Host } from '../../sources/host.ts';
import type { Members, Scope } from '../../sources/scope.ts';
import type { Environment } from '../schedulers/command.ts';
import { cgroupOfJob, type OwnCgroup, ownCgroup, ownCpuPath } from './own-cgroup.ts';

export interface ScopeRequest {
  /** The job as the scheduler names it; without it the command of `rootPid` is the job. */
  jobId?: string;
  scheduler?: string;
  /** The command that Tacho runs. */
  rootPid?: number;
  /** A variable that Tacho gave to the command and that all that descends from it inherits. */
  mark?: { variable: string; value: string };
  /** The job's user. */
  uid: number;
  /** Tacho's own processes. */
  exclude: readonly number[];
  redact: boolean;
  /** Where the scheduler says which job this is (default: our own environment). */
  environment?: Environment;
}

/** Where a job's processes carry its id. Inside a Flux batch job the one of the enclosing job is meant. */
const VARIABLES: Record<string, readonly string[]> = {
  slurm: ['SLURM_JOB_ID'],
  pbs: ['PBS_JOBID'],
  flux: ['FLUX_ENCLOSING_ID', 'FLUX_JOB_ID'],
  lsf: ['LSB_JOBID'],
};

/** Tells what on this node belongs to the job: by its cgroup, else by the variable in its environment, else by descent. */
export function findScope(host: Host, request: ScopeRequest): Scope {
  const { exclude, redact, rootPid } = request;
  const environment = request.environment ?? process.env;
  const variable = jobVariable(request, environment);
  const jobCgroup = request.jobId === undefined ? undefined : findJobCgroup(host, request, variable?.value);
  const cgroup = jobCgroup ?? ownCgroup(host);

  let members: Members;
  if (jobCgroup !== undefined) members = { by: 'cgroup', path: jobCgroup.path };
  else if (variable !== undefined) members = { by: 'environment', uid: request.uid, ...variable };
  else if (rootPid !== undefined) members = tree(rootPid, request.mark);
  else if (cgroup !== undefined && cgroup.of !== 'other') members = { by: 'cgroup', path: cgroup.path };
  else members = { by: 'node' };

  // what counts for the job alone must not count for a cgroup of others
  const cpu = members.by === 'cgroup' ? undefined : ownCpuPath(host);
  const inside = members.by === 'cgroup' && members.path === ownCgroup(host)?.path;
  return {
    members,
    ...(cgroup === undefined
      ? {}
      : {
          cgroup: {
            path: cgroup.path,
            ...(cpu === undefined || cpu === cgroup.path ? {} : { cpu }),
            shared: isShared(host, cgroup, members, request),
            ...(inside ? { agent: true } : {}),
          },
        }),
    exclude,
    ...(rootPid === undefined || members.by === 'tree' ? {} : { root: rootPid }),
    redact,
  };
}

const tree = (pid: number, mark: ScopeRequest['mark']): Members =>
  mark === undefined ? { by: 'tree', pid } : { by: 'tree', pid, mark };

function jobVariable(request: ScopeRequest, env: Environment): { variable: string; value: string } | undefined {
  if (request.jobId === undefined) return undefined;
  const names = VARIABLES[request.scheduler ?? ''] ?? [];
  const variable = names.find((name) => env[name] !== undefined) ?? names.at(-1);
  // the environment has the id as the processes have it: without the array's, with the server's name
  return variable === undefined ? undefined : { variable, value: env[variable] ?? request.jobId };
}

function findJobCgroup(host: Host, request: ScopeRequest, id = request.jobId!): OwnCgroup | undefined {
  const own = ownCgroup(host);
  if (own?.of === 'job') return own;
  const jobCgroup = cgroupOfJob(host, request.scheduler ?? '', id);
  // an empty one was left behind by another job of this id: who looks from outside does so while the job runs
  return jobCgroup !== undefined && isInhabited(host, jobCgroup.path) ? jobCgroup : undefined;
}

function isInhabited(host: Host, path: string): boolean {
  return hierarchies(host).some((hierarchy) => {
    const folder = folderOf(host, hierarchy, path);
    return folder !== undefined && !pidsBelow(host, folder).next().done;
  });
}

/** Is somebody in the cgroup who is not the job's? */
function isShared(host: Host, cgroup: OwnCgroup, members: Members, request: ScopeRequest): boolean {
  if (members.by === 'cgroup' && members.path === cgroup.path) return false;
  if (members.by !== 'tree') return true;
  // ours: the command, Tacho, and those who wait for them (the shell, the batch script, the container's first process)
  const ours = new Set<number>([...request.exclude, members.pid]);
  for (const pid of [...ours]) for (const ancestor of ancestors(host, pid)) ours.add(ancestor);
  for (const hierarchy of hierarchies(host)) {
    const folder = folderOf(host, hierarchy, cgroup.path);
    if (folder === undefined) continue;
    for (const pid of pidsBelow(host, folder)) {
      if (!ours.has(pid) && !ancestors(host, pid).includes(members.pid)) return true;
    }
  }
  return false;
}

function* pidsBelow(host: Host, folder: string): Generator<number> {
  for (const word of (host.text(`${folder}/cgroup.procs`) ?? '').split('\n')) if (Number(word) > 0) yield Number(word);
  for (const name of host.list(folder)) {
    if (host.exists(`${folder}/${name}/cgroup.procs`)) yield* pidsBelow(host, `${folder}/${name}`);
  }
}

function ancestors(host: Host, pid: number): number[] {
  const parents: number[] = [];
  for (let at = pid; at > 1; ) {
    const parent = Number(/^PPid:\s*(\d+)/m.exec(host.text(`/proc/${at}/status`) ?? '')?.[1] ?? 0);
    if (parent === 0) break;
    parents.push(parent);
    at = parent;
  }
  return parents;
}

/** What the kernel lets the job have of this node: CPUs (a quota may allow a part of one) and memory. */
export function allowance(host: Host, scope: Scope): { cpus?: number; memory_bytes?: number } {
  const limits = { cpus: Number.POSITIVE_INFINITY, memory: Number.POSITIVE_INFINITY };
  const lower = (what: keyof typeof limits, value: number): void => {
    if (value > 0 && value < limits[what]) limits[what] = value;
  };
  let cpuset = false;
  for (const folder of foldersUpwards(host, scope.cgroup)) {
    const whole = (name: string): number => Number.parseInt(host.text(`${folder}/${name}`) ?? '', 10);
    lower('memory', whole('memory.max'));
    lower('memory', whole('memory.limit_in_bytes'));
    const [quota, period] = (host.text(`${folder}/cpu.max`) ?? '').split(' ');
    lower('cpus', Number(quota) / Number(period));
    lower('cpus', whole('cpu.cfs_quota_us') / whole('cpu.cfs_period_us'));
    const cpus = countList(
      host.text(`${folder}/cpuset.cpus.effective`) ?? host.text(`${folder}/cpuset.effective_cpus`),
    );
    if (cpus > 0) cpuset = true;
    lower('cpus', cpus);
  }
  // our own affinity may be narrower than the job's: an agent is a step of its own, often bound to one CPU
  const narrow = scope.members.by === 'cgroup' && cpuset;
  const pid = scope.members.by === 'tree' ? scope.members.pid : 'self';
  const status = narrow ? undefined : (host.text(`/proc/${pid}/status`) ?? host.text('/proc/self/status'));
  lower('cpus', countList(/^Cpus_allowed_list:\s*(\S+)/m.exec(status ?? '')?.[1]));
  const total = Number(/^MemTotal: +(\d+) kB/m.exec(host.text('/proc/meminfo') ?? '')?.[1] ?? Number.NaN) * 1024;
  return {
    ...(Number.isFinite(limits.cpus) ? { cpus: limits.cpus } : {}),
    // a limit above what the node has is none
    ...(Number.isFinite(limits.memory) && !(limits.memory >= total) ? { memory_bytes: limits.memory } : {}),
  };
}

/** The cgroup's folder in every hierarchy, and those above it: a limit holds for all that is below. */
function foldersUpwards(host: Host, cgroup: Scope['cgroup']): string[] {
  const folders: string[] = [];
  for (const hierarchy of hierarchies(host)) {
    for (
      let at = cgroup === undefined ? '/' : pathIn(hierarchy, cgroup);
      ;
      at = at.slice(0, at.lastIndexOf('/')) || '/'
    ) {
      const folder = folderOf(host, hierarchy, at);
      if (folder !== undefined) folders.push(folder);
      if (at === '/') break;
    }
  }
  return folders;
}

/** What belongs to a job that an agent outside of it records: by its cgroup once there is one, else by its variable. */
export function jobScope(
  request: { id: string; cgroup?: string } & Required<Pick<ScopeRequest, 'scheduler' | 'uid' | 'exclude' | 'redact'>>,
): Scope {
  const { id, cgroup, scheduler, uid, exclude, redact } = request;
  if (cgroup !== undefined) {
    return { members: { by: 'cgroup', path: cgroup }, cgroup: { path: cgroup, shared: false }, exclude, redact };
  }
  const variable = (VARIABLES[scheduler] ?? VARIABLES.slurm!)[0]!;
  return { members: { by: 'environment', uid, variable, value: id }, exclude, redact };
}
