import * as fs from 'node:fs';
import * as path from 'node:path';
import { code, reason } from '../../base/fault.ts';
import type { CgroupJob, CgroupJobs } from '../../jobs/found/cgroup-jobs.ts';
import {
  jobName,
  type NodeJob,
  type NodeJobEnd,
  parseEndFile,
  parseJobFile,
  readJobText,
} from '../../jobs/found/job-file.ts';
import { type EndedCgroups, endedCgroups } from './ended-cgroups.ts';

export interface NodeJobsOptions {
  /** Where job files come in. */
  folder: string;
  /** Undefined: only job files count. */
  cgroups?: CgroupJobs;
  /** Which cgroups are of jobs that have ended: an agent that starts again must not take them for new ones. */
  endedCgroups?: EndedCgroups;
  /** Epoch microseconds. */
  now(): number;
  /** Hooks and files have the time of the wall clock, which may be so much ahead of this one (src/agent/loop/clock.ts). */
  ahead?(): number;
  /** A job runs here. When this throws, the job is offered again at the next look. */
  begun(name: string, job: NodeJob, by: 'file' | 'cgroup', cgroup?: CgroupJob): void;
  /** Slurm has a cgroup now for a job that has begun without. */
  inCgroup(name: string, cgroup: CgroupJob): void;
  /** A job that was found by its cgroup has a file now, which knows more of it. */
  told(name: string, job: NodeJob): void;
  /** Its files stay until this is done: what they say is lost with them. */
  ended(name: string, end: NodeJobEnd, why: string): Promise<void>;
  /** Both came while nobody looked: the job may have been recorded by an agent before this one. */
  missed(name: string, job: NodeJob, end: NodeJobEnd): Promise<void>;
  /** A file that cannot be used, said once. */
  refused(file: string, why: string): void;
}

export interface NodeJobs {
  /** Looks at the folder and at the cgroups: a few system calls. */
  look(): void;
  /** The job has ended, as somebody else found out; its file stays until it is closed. */
  forget(name: string, closed: Promise<void>): void;
}

interface Running {
  readonly job: NodeJob;
  /** Its file in the folder; undefined: it was found by its cgroup. */
  file: string | undefined;
  /** Which file that was: another one may come by its name. */
  identity: string | undefined;
  cgroup: boolean;
  /** A cgroup that was there before the job was: while it has no process, another job by this id has left it behind. */
  leftOver: string | undefined;
  /** Since when its cgroup has no process (epoch microseconds). */
  empty?: number;
}

/** A job that has a cgroup may have a file in a moment, and processes that say more of it. */
const PATIENCE = 400_000;
/** A job without a file whose cgroup is empty for so long has ended: between two steps there may be a pause. */
const EMPTY_FOR = 30_000_000;

/** Which jobs run on this node: what prologs and epilogs say, and what cgroups show. */
export function nodeJobs(options: NodeJobsOptions): NodeJobs {
  const since = options.now();
  let found: ReadonlyMap<string, CgroupJob> = new Map();
  const running = new Map<string, Running>();
  const refused = new Set<string>();
  /** Files of jobs that could not be begun yet (a full disk): their ends wait with them. */
  const waiting = new Set<string>();
  /** Cgroups of jobs that were not begun yet: since when they are there. */
  const seen = new Map<string, number>();
  /** Jobs that have ended while their cgroup was still there. */
  const over = options.endedCgroups ?? endedCgroups();
  /** Files of jobs that have ended and are being closed: which they were, by name. */
  const closing = new Map<string, string | undefined>();
  const isClosing = (name: string): boolean => closing.has(name) && closing.get(name) === identityOf(name);
  const identityOf = (name: string): string | undefined => fileIdentity(path.join(options.folder, name));

  function read<T>(name: string, parse: (text: string) => T): T | undefined {
    const file = path.join(options.folder, name);
    try {
      const text = readJobText(file);
      return text === undefined ? undefined : parse(text);
    } catch (error) {
      refuse(name, reason(error));
      return undefined;
    }
  }

  const ahead = options.ahead ?? ((): number => 0);

  function readBegin(name: string): NodeJob | undefined {
    const job = read(name, parseJobFile);
    return job?.begin === undefined ? job : { ...job, begin: job.begin - ahead() };
  }

  function readEnd(name: string): NodeJobEnd | undefined {
    const end = read(name, parseEndFile);
    return end?.end === undefined ? end : { ...end, end: end.end - ahead() };
  }

  function refuse(name: string, why: string): void {
    if (!refused.has(name)) options.refused(name.includes(' ') ? name : path.join(options.folder, name), why);
    refused.add(name);
  }

  function remove(...names: (string | undefined)[]): void {
    for (const name of names) {
      if (name === undefined) continue;
      try {
        fs.rmSync(path.join(options.folder, name), { force: true });
      } catch (error) {
        refuse(name, `cannot be removed: ${reason(error)}`);
      }
    }
  }

  function begin(
    name: string,
    job: NodeJob,
    file: string | undefined,
    identity: string | undefined,
    cgroup?: CgroupJob,
  ): boolean {
    try {
      options.begun(name, job, file === undefined ? 'cgroup' : 'file', cgroup);
    } catch (error) {
      refuse(file ?? `cgroup of job ${name}`, `the job is not recorded yet: ${reason(error)}`);
      if (file !== undefined) waiting.add(file);
      return false;
    }
    if (file !== undefined) waiting.delete(file);
    refused.delete(file ?? `cgroup of job ${name}`);
    const before = cgroup === undefined ? found.get(job.id) : undefined;
    // an agent that comes late, or again, finds the job's own
    const isOwn =
      before !== undefined && job.begin !== undefined && !options.cgroups!.isOlder(before, job.begin + ahead());
    const leftOver = before === undefined || isOwn ? undefined : options.cgroups!.identity(before);
    running.set(name, { job, file, identity, cgroup: cgroup !== undefined, leftOver });
    return true;
  }

  /** Files that have taken the place of these meanwhile stay: they are of another run. */
  function removeAfter(work: Promise<void>, ...files: readonly (readonly [string | undefined, string | undefined])[]) {
    for (const [file, identity] of files) if (file !== undefined) closing.set(file, identity);
    void work.finally(() => {
      for (const [file, identity] of files) {
        if (file === undefined) continue;
        if (identityOf(file) === identity) remove(file);
        if (closing.get(file) === identity) closing.delete(file);
      }
    });
  }

  function finish(name: string, end: NodeJobEnd, why: string, endFile?: string): void {
    const { file, job, identity } = running.get(name)!;
    running.delete(name);
    over.add(job.id);
    const own = file === undefined || isNextRun(file, identity, end) ? identity : identityOf(file);
    const endIdentity = endFile === undefined ? undefined : identityOf(endFile);
    removeAfter(options.ended(name, end, why), [file, own], [endFile, endIdentity]);
  }

  /** Whether a file is no longer the one that it was because the same id has begun again after this end. */
  function isNextRun(file: string, identity: string | undefined, end: NodeJobEnd): boolean {
    if (end.end === undefined || identityOf(file) === identity) return false;
    return (readBegin(file)?.begin ?? 0) > end.end;
  }

  const withId = (id: string): string | undefined => [...running].find(([, { job }]) => job.id === id)?.[0];

  function takeFile(file: string, endFile: string | undefined): void {
    const identity = identityOf(file);
    const job = readBegin(file);
    if (job === undefined) return;
    const name = jobName(job);
    const same = withId(job.id);
    if (same !== undefined) {
      const known = running.get(same)!;
      // its cgroup was there first
      if (known.file === undefined && !((job.restart ?? 0) > (known.job.restart ?? 0))) {
        known.file = file;
        known.identity = identity;
        waiting.delete(file);
        options.told(same, job);
        return;
      }
      if (same !== name) finish(same, { id: job.id }, 'the scheduler started the job again');
    }
    // between two looks of this agent a job may begin and end
    if (endFile !== undefined && !((job.begin ?? 0) >= since)) {
      const end = readEnd(endFile);
      if (end === undefined) return;
      const ends = [endFile, identityOf(endFile)] as const;
      if (!isEarlier(end, job)) {
        over.add(job.id);
        removeAfter(options.missed(name, job, end), [file, identity], ends);
        return;
      }
      // that was the end of another run, whose file this one has replaced
      const { begin: _, ...before } = job;
      removeAfter(options.missed(name, before, end), ends);
    }
    over.delete(job.id);
    if (!begin(name, job, file, identity)) return;
    for (const line of job.unused ?? []) options.refused(path.join(options.folder, file), `${line} cannot be used`);
  }

  function takeEnd(file: string): void {
    const end = readEnd(file);
    if (end === undefined) return;
    const exact = jobName(end);
    const name = running.has(exact) && end.restart !== undefined ? exact : withId(end.id);
    // a node that comes back runs the epilog of what it has lost, perhaps after the prolog of the next run
    const earlier = name !== undefined && isEarlier(end, running.get(name)!.job);
    // a run that is named and does not run here has ended before
    if (name !== undefined && !earlier && (end.restart === undefined || name === exact)) {
      finish(name, end, 'the job has ended', file);
    } else remove(file);
  }

  function lookAtFiles(): void {
    let names: string[];
    try {
      names = fs.readdirSync(options.folder);
    } catch (error) {
      if (code(error) !== 'ENOENT') refuse('', reason(error));
      return;
    }
    const all = new Set(names);
    const files = new Set([...running.values()].map(({ file }) => file));
    for (const name of names) {
      if (name.startsWith('.') || name.endsWith('.end') || files.has(name) || isClosing(name)) continue;
      const end = `${name}.end`;
      takeFile(name, all.has(end) && !isClosing(end) ? end : undefined);
    }
    for (const file of waiting) if (!all.has(file)) waiting.delete(file);
    for (const name of names) {
      if (!name.endsWith('.end') || name.startsWith('.') || isClosing(name)) continue;
      if (!waiting.has(name.slice(0, -'.end'.length))) takeEnd(name);
    }
    for (const name of refused) if (!all.has(name) && !name.includes(' ')) refused.delete(name);
  }

  function lookAtCgroups(cgroups: CgroupJobs): void {
    const now = options.now();
    over.keep((id) => {
      const cgroup = found.get(id);
      return cgroup === undefined ? undefined : cgroups.identity(cgroup);
    });
    for (const [id, cgroup] of found) {
      if (over.has(id)) continue;
      let name = withId(id);
      if (name === undefined) {
        if (!cgroups.hasProcesses(cgroup)) continue;
        const first = seen.get(id) ?? now;
        seen.set(id, first);
        const job = cgroups.describe(cgroup) ?? (now - first >= PATIENCE ? cgroups.outline(cgroup) : undefined);
        if (job === undefined || !begin(jobName(job), job, undefined, undefined, cgroup)) continue;
        name = withId(id)!;
      }
      seen.delete(id);
      const known = running.get(name)!;
      if (known.cgroup) continue;
      const isOld = known.leftOver !== undefined && known.leftOver === cgroups.identity(cgroup);
      if (isOld && !cgroups.hasProcesses(cgroup)) continue;
      options.inCgroup(name, cgroup);
      known.cgroup = true;
    }
    for (const [name, known] of [...running]) {
      if (known.file !== undefined) continue;
      const { id } = known.job;
      const cgroup = found.get(id);
      if (cgroup === undefined) finish(name, { id, end: known.empty ?? now }, 'its cgroup has gone');
      else if (cgroups.hasProcesses(cgroup)) delete known.empty;
      else {
        known.empty ??= now;
        if (now - known.empty < EMPTY_FOR) continue;
        finish(name, { id, end: known.empty, guessed: true }, 'its cgroup is empty');
        // should a process come into it again, the job goes on
        over.delete(id);
      }
    }
    for (const id of seen.keys()) if (!found.has(id)) seen.delete(id);
  }

  return {
    look() {
      // a prolog comes before the cgroup: whatever has one by now has its file, if there are hooks
      const { cgroups } = options;
      if (cgroups !== undefined) found = cgroups.look();
      lookAtFiles();
      if (cgroups !== undefined) lookAtCgroups(cgroups);
      else over.clear();
    },
    forget(name, closed) {
      const { job, file, identity } = running.get(name) ?? {};
      running.delete(name);
      if (job !== undefined) over.add(job.id);
      removeAfter(closed, [file, identity]);
    },
  };
}

/** Whether this is the end of a run before this one. */
const isEarlier = ({ end }: NodeJobEnd, { begin }: NodeJob): boolean =>
  begin !== undefined && end !== undefined && end < begin;

/** Whether a file is still the same one; undefined: it has gone. */
function fileIdentity(file: string): string | undefined {
  const stat = fs.statSync(file, { bigint: true, throwIfNoEntry: false });
  return stat === undefined ? undefined : `${stat.ino} ${stat.mtimeNs}`;
}
