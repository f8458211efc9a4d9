import * as fs from 'node:fs';
import { folderOf, type Hierarchy, hierarchies } from '../../sources/cgroup/mounts.ts';
import { userNames } from '../../sources/host/user-names.ts';
import type { Host } from '../../sources/host.ts';
import { processView } from '../../sources/process/view.ts';
import { JOB_KEYS, type NodeJob, parseJobFile } from './job-file.ts';

/** A job that Slurm has a cgroup for on this node. */
export interface CgroupJob {
  readonly id: string;
  /** As in /proc/PID/cgroup. */
  readonly path: string;
  /** Where it lies in the file system. */
  readonly folder: string;
}

/** A job's cgroup may be made a little before its start is noted: what is so much older is of another job. */
const SLACK = 2e6;
const ABSENT = { throwIfNoEntry: false } as const;

/** Whether a job's cgroup was there before the job began (epoch microseconds): another one with its id has left it. */
export function isOlderThan(host: Host, path: string, begin: number): boolean {
  return hierarchies(host).some((hierarchy) => {
    const folder = folderOf(host, hierarchy, path);
    if (folder === undefined) return false;
    // the folder itself may be as new as what was last made in it
    const files = [folder, `${folder}/cgroup.procs`];
    return files.some((file) => (fs.statSync(host.path(file), ABSENT)?.mtimeMs ?? Infinity) * 1000 < begin - SLACK);
  });
}

/** Slurm makes a job's cgroup in one of these at least; version 1 has a dozen others. */
const TELLING = ['freezer', 'memory', 'cpuset', 'cpuacct', 'devices'];
const DEEPEST = 5;

export type CgroupJobs = ReturnType<typeof cgroupJobs>;

/**
 * The jobs on this node by the cgroups that Slurm has made: /slurm/uid_1000/job_17 (version 1; /slurm_c1 with several
 * nodes on a machine), /system.slice/slurmstepd.scope/job_17 (version 2; c1_slurmstepd.scope).
 */
export function cgroupJobs(host: Host, node: string) {
  const jobHierarchies = hierarchies(host).filter(
    ({ version, controllers }) => version === 2 || controllers.some((c) => TELLING.includes(c)),
  );
  const userName = userNames(host);
  const list = keptLists(host);
  // numbers of folders begin again with each boot
  const boot = host.text('/proc/sys/kernel/random/boot_id') ?? '';

  /** What the cgroup alone says: whose it is, where its path has the user's number. */
  const outline = (job: CgroupJob): NodeJob => {
    const uid = Number(/\/uid_(\d+)\//.exec(job.path)?.[1] ?? Number.NaN);
    return {
      id: job.id,
      scheduler: 'slurm',
      nodes: [],
      tags: {},
      environment: { SLURM_JOB_ID: job.id },
      ...(Number.isNaN(uid) ? {} : { uid, user: userName(uid) }),
    };
  };

  return {
    /** The jobs that have a cgroup now, by id. Cheap enough for twice a second. */
    look(): Map<string, CgroupJob> {
      const jobsFound = new Map<string, CgroupJob>();
      for (const hierarchy of jobHierarchies)
        for (const top of tops(host, list, hierarchy, node)) jobsBelow(host, hierarchy, top, jobsFound);
      return jobsFound;
    },
    outline,
    /** Whether it was there before a job that began then (epoch microseconds). */
    isOlder: ({ path }: CgroupJob, begin: number): boolean => isOlderThan(host, path, begin),
    /** Whether any process is in it or below it: version 1 often leaves empty folders behind. */
    hasProcesses: ({ folder }: CgroupJob): boolean => isPopulated(host, folder),
    /** Tells a job's cgroup from one that is made later at the same place. Undefined: it has gone. */
    identity({ folder }: CgroupJob): string | undefined {
      const number = fs.statSync(host.path(folder), { throwIfNoEntry: false })?.ino;
      return number === undefined ? undefined : `${folder} ${number}@${boot}`;
    },
    /** What a job's own processes say of it. Undefined: none of them runs yet. */
    describe(job: CgroupJob): NodeJob | undefined {
      const processEnvironment = environmentOf(host, job.folder, job.id, DEEPEST);
      if (processEnvironment === undefined) return undefined;
      const by = outline(job);
      const text = JOB_KEYS.filter((key) => !/[\n\r]/.test(processEnvironment.environment[key] ?? ''))
        .map((key) => `${key}=${processEnvironment.environment[key] ?? ''}\n`)
        .join('');
      try {
        // a process may say of itself what it likes: whose it is, the kernel says
        return {
          ...parseJobFile(text),
          scheduler: 'slurm',
          uid: processEnvironment.uid,
          user: userName(processEnvironment.uid),
          ...whose(by),
        };
      } catch {
        return { ...by, uid: processEnvironment.uid, user: userName(processEnvironment.uid) };
      }
    },
  };
}

const whose = ({ uid, user }: NodeJob): Partial<NodeJob> =>
  uid === undefined || user === undefined ? {} : { uid, user };

/** The folders that hold the folders of jobs. */
function tops(host: Host, list: List, { mount }: Hierarchy, node: string): string[] {
  const folders: string[] = [];
  for (const name of own(list(mount, isSlurm), `slurm_${node}`)) {
    for (const user of host.list(`${mount}/${name}`)) if (user.startsWith('uid_')) folders.push(`/${name}/${user}`);
  }
  for (const name of own(list(`${mount}/system.slice`, isStepDaemons), `${node}_slurmstepd.scope`)) {
    folders.push(`/system.slice/${name}`);
  }
  return folders;
}

/** Of several nodes on a machine this one's alone: a job may run on two of them. */
const own = (names: readonly string[], ours: string): readonly string[] => (names.includes(ours) ? [ours] : names);

const isSlurm = (name: string): boolean => name.startsWith('slurm');
const isStepDaemons = (name: string): boolean => name.endsWith('slurmstepd.scope');

type List = (folder: string, wanted: (name: string) => boolean) => readonly string[];

/** A folder is read at least once in so many looks. */
const READ_EVERY = 8;

/** Lists folders with very many files of the kernel, anew only when folders in them have come or gone, or now and then. */
function keptLists(host: Host): List {
  const kept = new Map<string, { links: number; left: number; names: readonly string[] }>();
  return (folder, wanted) => {
    const links = fs.statSync(host.path(folder), { throwIfNoEntry: false })?.nlink;
    if (links === undefined) return [];
    const keptList = kept.get(folder);
    // a file system that does not count folders says 1
    if (keptList !== undefined && links > 1 && keptList.links === links && keptList.left-- > 0) return keptList.names;
    const names = host.list(folder).filter(wanted);
    kept.set(folder, { links, left: READ_EVERY - 1, names });
    return names;
  };
}

function jobsBelow(host: Host, { mount, root }: Hierarchy, top: string, jobsFound: Map<string, CgroupJob>): void {
  const inside = root === '/' ? '' : root;
  for (const name of host.list(mount + top)) {
    const id = /^job_(\d+)$/.exec(name)?.[1];
    if (id === undefined || jobsFound.has(id)) continue;
    jobsFound.set(id, { id, path: `${inside}${top}/${name}`, folder: `${mount}${top}/${name}` });
  }
}

/** A part of a job's cgroup that Slurm makes; `slurm` holds its own daemons. */
const isPart = (name: string): boolean =>
  name.startsWith('step_') || name.startsWith('task_') || name === 'user' || name === 'slurm';

function isPopulated(host: Host, folder: string, depth = DEEPEST): boolean {
  // version 2 knows it for all that is below
  const populatedFlag = /^populated (\d)/m.exec(host.text(`${folder}/cgroup.events`) ?? '')?.[1];
  if (populatedFlag !== undefined) return populatedFlag !== '0';
  if ((host.text(`${folder}/cgroup.procs`) ?? '') !== '') return true;
  return (
    depth > 0 && host.list(folder).some((name) => isPart(name) && isPopulated(host, `${folder}/${name}`, depth - 1))
  );
}

/** The environment and owner of the first process in a cgroup that says to be of this job; not of Slurm's own. */
function environmentOf(
  host: Host,
  folder: string,
  id: string,
  depth: number,
): { environment: Record<string, string>; uid: number } | undefined {
  for (const pid of (host.text(`${folder}/cgroup.procs`) ?? '').split('\n')) {
    if (pid === '') continue;
    const environment = parse(host.text(`/proc/${pid}/environ`) ?? '');
    const uid = processView(host).owner(Number(pid));
    if (environment.SLURM_JOB_ID === id && uid !== undefined) return { environment, uid };
  }
  if (depth === 0) return undefined;
  for (const name of host.list(folder)) {
    if (!isPart(name) || name === 'slurm') continue;
    const environmentBelow = environmentOf(host, `${folder}/${name}`, id, depth - 1);
    if (environmentBelow !== undefined) return environmentBelow;
  }
  return undefined;
}

function parse(environ: string): Record<string, string> {
  const variables: Record<string, string> = {};
  for (const pair of Buffer.from(environ, 'latin1').toString('utf8').split('\0')) {
    const at = pair.indexOf('=');
    if (at > 0) variables[pair.slice(0, at)] ??= pair.slice(at + 1);
  }
  return variables;
}
