import * as path from 'node:path';
import { reason } from '../../base/fault.ts';
import type { CgroupJob, CgroupJobs } from '../../jobs/on-node/cgroup-jobs.ts';
import { jobName, type NodeJob, type NodeJobEnd } from '../../jobs/on-node/job-file.ts';
import { type EndedCgroups, endedCgroups } from './ended-cgroups.ts';
import { type HookFile, HookFiles, type HookFilesOptions } from './hook-files.ts';

interface NodeJobsOptions extends HookFilesOptions {
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
  /** A job that was found by its cgroup has a file now, which knows more of it. */
  announced(name: string, job: NodeJob): void;
  /** Its files stay until this is done: what they say is lost with them. */
  ended(name: string, end: NodeJobEnd, why: string): Promise<void>;
  /** Both came while nobody looked: the job may have been recorded by an agent before this one. */
  missed(name: string, job: NodeJob, end: NodeJobEnd): Promise<void>;
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
export class NodeJobs {
  private readonly options: NodeJobsOptions;
  private readonly files: HookFiles;
  private readonly since: number;
  private cgroupJobs: ReadonlyMap<string, CgroupJob> = new Map();
  private readonly running = new Map<string, Running>();
  /** Files of jobs that could not be begun yet (a full disk): their ends wait with them. */
  private readonly waiting = new Set<string>();
  /** Cgroups of jobs that were not begun yet: since when they are there. */
  private readonly firstSeen = new Map<string, number>();
  /** Jobs that have ended while their cgroup was still there. */
  private readonly over: EndedCgroups;

  constructor(options: NodeJobsOptions) {
    this.options = options;
    this.files = new HookFiles(options);
    this.since = options.now();
    this.over = options.endedCgroups ?? endedCgroups();
  }

  /** Looks at the folder and at the cgroups: a few system calls. */
  look(): void {
    // a prolog comes before the cgroup: whatever has one by now has its file, if there are hooks
    const { cgroups } = this.options;
    if (cgroups !== undefined) this.cgroupJobs = cgroups.look();
    this.lookAtFiles();
    if (cgroups !== undefined) this.lookAtCgroups(cgroups);
    else this.over.clear();
  }

  /** The job has ended, as somebody else found out; its file stays until it is closed. */
  forget(name: string, closed: Promise<void>): void {
    const { job, file, identity } = this.running.get(name) ?? {};
    this.running.delete(name);
    if (job !== undefined) this.over.add(job.id);
    this.files.removeAfter(closed, [file, identity]);
  }

  private begin(name: string, job: NodeJob, [file, identity]: HookFile, cgroup?: CgroupJob): boolean {
    try {
      this.options.begun(name, job, file === undefined ? 'cgroup' : 'file', cgroup);
    } catch (error) {
      this.files.refuse(file ?? `cgroup of job ${name}`, `the job is not recorded yet: ${reason(error)}`);
      if (file !== undefined) this.waiting.add(file);
      return false;
    }
    if (file !== undefined) this.waiting.delete(file);
    this.files.accept(file ?? `cgroup of job ${name}`);
    const before = cgroup === undefined ? this.cgroupJobs.get(job.id) : undefined;
    // an agent that comes late, or again, finds the job's own
    const isOwn =
      before !== undefined &&
      job.begin !== undefined &&
      !this.options.cgroups!.isOlder(before, job.begin + this.files.ahead());
    const leftOver = before === undefined || isOwn ? undefined : this.options.cgroups!.identity(before);
    this.running.set(name, { job, file, identity, cgroup: cgroup !== undefined, leftOver });
    return true;
  }

  private finish(name: string, end: NodeJobEnd, why: string, endFile?: string): void {
    const { file, job, identity } = this.running.get(name)!;
    this.running.delete(name);
    this.over.add(job.id);
    const own = file === undefined || this.isNextRun(file, identity, end) ? identity : this.files.identity(file);
    const endIdentity = endFile === undefined ? undefined : this.files.identity(endFile);
    this.files.removeAfter(this.options.ended(name, end, why), [file, own], [endFile, endIdentity]);
  }

  /** Whether a file is no longer the one that it was because the same id has begun again after this end. */
  private isNextRun(file: string, identity: string | undefined, end: NodeJobEnd): boolean {
    if (end.end === undefined || this.files.identity(file) === identity) return false;
    return (this.files.readBegin(file)?.begin ?? 0) > end.end;
  }

  private withId(id: string): string | undefined {
    return [...this.running].find(([, { job }]) => job.id === id)?.[0];
  }

  private takeFile(file: string, endFile: string | undefined): void {
    const identity = this.files.identity(file);
    const job = this.files.readBegin(file);
    if (job === undefined) return;
    const name = jobName(job);
    if (this.isRunning(name, job, file, identity)) return;
    // between two looks of this agent a job may begin and end
    if (endFile !== undefined && !((job.begin ?? 0) >= this.since)) {
      const end = this.files.readEnd(endFile);
      if (end === undefined) return;
      const ends = [endFile, this.files.identity(endFile)] as const;
      if (!isEarlier(end, job)) {
        this.over.add(job.id);
        this.files.removeAfter(this.options.missed(name, job, end), [file, identity], ends);
        return;
      }
      // that was the end of another run, whose file this one has replaced
      const { begin: _, ...before } = job;
      this.files.removeAfter(this.options.missed(name, before, end), ends);
    }
    this.over.delete(job.id);
    if (!this.begin(name, job, [file, identity])) return;
    for (const line of job.unused ?? [])
      this.options.refused(path.join(this.options.folder, file), `${line} cannot be used`);
  }

  /** Its cgroup was there first. What runs by its id otherwise has ended. */
  private isRunning(name: string, job: NodeJob, file: string, identity: string | undefined): boolean {
    const same = this.withId(job.id);
    if (same === undefined) return false;
    const runningJob = this.running.get(same)!;
    if (runningJob.file === undefined && !((job.restart ?? 0) > (runningJob.job.restart ?? 0))) {
      runningJob.file = file;
      runningJob.identity = identity;
      this.waiting.delete(file);
      this.options.announced(same, job);
      return true;
    }
    if (same !== name) this.finish(same, { id: job.id }, 'the scheduler started the job again');
    return false;
  }

  private takeEnd(file: string): void {
    const end = this.files.readEnd(file);
    if (end === undefined) return;
    const exact = jobName(end);
    const name = this.running.has(exact) && end.restart !== undefined ? exact : this.withId(end.id);
    // a node that comes back runs the epilog of what it has lost, perhaps after the prolog of the next run
    const earlier = name !== undefined && isEarlier(end, this.running.get(name)!.job);
    // a run that is named and does not run here has ended before
    if (name !== undefined && !earlier && (end.restart === undefined || name === exact)) {
      this.finish(name, end, 'the job has ended', file);
    } else this.files.remove(file);
  }

  private lookAtFiles(): void {
    const names = this.files.list();
    if (names === undefined) return;
    const all = new Set(names);
    const files = new Set([...this.running.values()].map(({ file }) => file));
    for (const name of names) {
      if (name.endsWith('.end') || files.has(name) || this.files.isClosing(name)) continue;
      const end = `${name}.end`;
      this.takeFile(name, all.has(end) && !this.files.isClosing(end) ? end : undefined);
    }
    for (const file of this.waiting) if (!all.has(file)) this.waiting.delete(file);
    for (const name of names) {
      if (!name.endsWith('.end') || this.files.isClosing(name)) continue;
      if (!this.waiting.has(name.slice(0, -'.end'.length))) this.takeEnd(name);
    }
  }

  private lookAtCgroups(cgroups: CgroupJobs): void {
    const now = this.options.now();
    this.over.keep((id) => {
      const cgroup = this.cgroupJobs.get(id);
      return cgroup === undefined ? undefined : cgroups.identity(cgroup);
    });
    for (const [id, cgroup] of this.cgroupJobs) if (!this.over.has(id)) this.takeCgroup(cgroups, id, cgroup, now);
    this.finishEmpty(cgroups, now);
    for (const id of this.firstSeen.keys()) if (!this.cgroupJobs.has(id)) this.firstSeen.delete(id);
  }

  private takeCgroup(cgroups: CgroupJobs, id: string, cgroup: CgroupJob, now: number): void {
    let name = this.withId(id);
    if (name === undefined) {
      if (!cgroups.hasProcesses(cgroup)) return;
      const first = this.firstSeen.get(id) ?? now;
      this.firstSeen.set(id, first);
      const job = cgroups.describe(cgroup) ?? (now - first >= PATIENCE ? cgroups.outline(cgroup) : undefined);
      if (job === undefined || !this.begin(jobName(job), job, [undefined, undefined], cgroup)) return;
      name = this.withId(id)!;
    }
    this.firstSeen.delete(id);
    const runningJob = this.running.get(name)!;
    if (runningJob.cgroup) return;
    const isOld = runningJob.leftOver !== undefined && runningJob.leftOver === cgroups.identity(cgroup);
    if (isOld && !cgroups.hasProcesses(cgroup)) return;
    this.options.inCgroup(name, cgroup);
    runningJob.cgroup = true;
  }

  /** Jobs without a file end with what is in their cgroups. */
  private finishEmpty(cgroups: CgroupJobs, now: number): void {
    for (const [name, runningJob] of [...this.running]) {
      if (runningJob.file !== undefined) continue;
      const { id } = runningJob.job;
      const cgroup = this.cgroupJobs.get(id);
      if (cgroup === undefined) this.finish(name, { id, end: runningJob.empty ?? now }, 'its cgroup has gone');
      else if (cgroups.hasProcesses(cgroup)) delete runningJob.empty;
      else {
        runningJob.empty ??= now;
        if (now - runningJob.empty < EMPTY_FOR) continue;
        this.finish(name, { id, end: runningJob.empty, guessed: true }, 'its cgroup is empty');
        // should a process come into it again, the job goes on
        this.over.delete(id);
      }
    }
  }
}

/** Whether this is the end of a run before this one. */
const isEarlier = ({ end }: NodeJobEnd, { begin }: NodeJob): boolean =>
  begin !== undefined && end !== undefined && end < begin;
