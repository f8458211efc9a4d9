import * as fs from 'node:fs';
import * as path from 'node:path';
import { code, reason } from '../base/fault.ts';
import type { CgroupJob, CgroupJobs } from '../jobs/cgroup-jobs.ts';
import { jobName, type NodeJob, type NodeJobEnd, parseEndFile, parseJobFile, readJobText } from '../jobs/job-file.ts';
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
  /** A job runs here. When this throws, the job is offered again at the next look. */
  begun(name: string, job: NodeJob, by: 'file' | 'cgroup', cgroup?: CgroupJob): void;
  /** Slurm has a cgroup now for a job that has begun without. */
  inCgroup(name: string, cgroup: CgroupJob): void;
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
  cgroup: boolean;
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
  const running = new Map<string, Running>();
  const refused = new Set<string>();
  /** Cgroups of jobs that were not begun yet: since when they are there. */
  const seen = new Map<string, number>();
  /** Jobs that have ended while their cgroup was still there. */
  const over = options.endedCgroups ?? endedCgroups();
  /** Files of jobs that have ended and are being closed. */
  const closing = new Set<string>();

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

  function begin(name: string, job: NodeJob, file: string | undefined, cgroup?: CgroupJob): boolean {
    try {
      options.begun(name, job, file === undefined ? 'cgroup' : 'file', cgroup);
    } catch (error) {
      refuse(file ?? `cgroup of job ${name}`, `the job is not recorded yet: ${reason(error)}`);
      return false;
    }
    refused.delete(file ?? `cgroup of job ${name}`);
    running.set(name, { job, file, cgroup: cgroup !== undefined });
    return true;
  }

  function removeAfter(work: Promise<void>, ...names: (string | undefined)[]): void {
    const files = names.filter((name) => name !== undefined);
    for (const file of files) closing.add(file);
    void work.finally(() => {
      remove(...files);
      for (const file of files) closing.delete(file);
    });
  }

  function finish(name: string, end: NodeJobEnd, why: string, endFile?: string): void {
    const { file, job } = running.get(name)!;
    running.delete(name);
    over.add(job.id);
    removeAfter(options.ended(name, end, why), file, endFile);
  }

  const withId = (id: string): string | undefined => [...running].find(([, { job }]) => job.id === id)?.[0];

  function takeFile(file: string, endFile: string | undefined): void {
    const job = read(file, parseJobFile);
    if (job === undefined) return;
    const name = jobName(job);
    const same = withId(job.id);
    if (same !== undefined) {
      const known = running.get(same)!;
      // its cgroup was there first
      if (known.file === undefined && !((job.restart ?? 0) > (known.job.restart ?? 0))) {
        known.file = file;
        return;
      }
      if (same !== name) finish(same, { id: job.id }, 'the scheduler started the job again');
    }
    if (endFile !== undefined && !((job.begin ?? 0) >= since)) {
      const end = read(endFile, parseEndFile);
      if (end === undefined) return;
      over.add(job.id);
      removeAfter(options.missed(name, job, end), file, endFile);
      return;
    }
    over.delete(job.id);
    begin(name, job, file);
  }

  function takeEnd(file: string): void {
    const end = read(file, parseEndFile);
    if (end === undefined) return;
    const exact = jobName(end);
    const name = running.has(exact) && end.restart !== undefined ? exact : withId(end.id);
    // a node that comes back runs the epilog of what it has lost, perhaps after the prolog of the next run
    const begin = name === undefined ? undefined : running.get(name)!.job.begin;
    const earlier = begin !== undefined && end.end !== undefined && end.end < begin;
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
      if (name.startsWith('.') || name.endsWith('.end') || files.has(name) || closing.has(name)) continue;
      takeFile(name, all.has(`${name}.end`) ? `${name}.end` : undefined);
    }
    for (const name of names) {
      if (name.endsWith('.end') && !name.startsWith('.') && !closing.has(name)) takeEnd(name);
    }
    for (const name of refused) if (!all.has(name) && !name.includes(' ')) refused.delete(name);
  }

  function lookAtCgroups(cgroups: CgroupJobs): void {
    const now = options.now();
    const found = cgroups.look();
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
        if (job === undefined || !begin(jobName(job), job, undefined, cgroup)) continue;
        name = withId(id)!;
      }
      seen.delete(id);
      const known = running.get(name)!;
      if (!known.cgroup) options.inCgroup(name, cgroup);
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
        finish(name, { id, end: known.empty }, 'its cgroup is empty');
        // should a process come into it again, the job goes on
        over.delete(id);
      }
    }
    for (const id of seen.keys()) if (!found.has(id)) seen.delete(id);
  }

  return {
    look() {
      lookAtFiles();
      if (options.cgroups !== undefined) lookAtCgroups(options.cgroups);
      else over.clear();
    },
    forget(name, closed) {
      const { job, file } = running.get(name) ?? {};
      running.delete(name);
      if (job !== undefined) over.add(job.id);
      removeAfter(closed, file);
    },
  };
}
