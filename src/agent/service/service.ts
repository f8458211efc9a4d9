import * as fs from 'node:fs';
import * as path from 'node:path';
import { Fault, isUnwritable, reason } from '../../base/fault.ts';
import { makeFolder } from '../../base/folder.ts';
import { stated } from '../../base/stated.ts';
import { trouble } from '../../base/trouble.ts';
import { libraryOf, tryLibraryHere } from '../../control/preload.ts';
import { whyPrivate } from '../../control/private-path.ts';
import { type CgroupJob, cgroupJobs } from '../../jobs/on-node/cgroup-jobs.ts';
import type { NodeJob, NodeJobEnd } from '../../jobs/on-node/job-file.ts';
import { type ProcessId, processId, stillRuns } from '../../jobs/on-node/process-id.ts';
import { usersFolder } from '../../jobs/on-node/user-jobs.ts';
import type { Run } from '../../jobs/schedulers/command.ts';
import { schedulerNamed, schedulerRunner } from '../../jobs/schedulers/job-facts.ts';
import type { Job } from '../../recording/folder/job.ts';
import { readJob } from '../../recording/folder/open.ts';
import { replaceJson } from '../../recording/folder/replace.ts';
import type { WriterOptions } from '../../recording/live/append.ts';
import type { CustomSource } from '../../sources/custom/custom.ts';
import { keepBootTime } from '../../sources/host/boot-time.ts';
import { nodeFacts } from '../../sources/host/facts.ts';
import { Host } from '../../sources/host.ts';
import { isChosen } from '../../sources/index.ts';
import { sharedView } from '../../sources/process/view.ts';
import { RECORD_KINDS } from '../../sources/records/records.ts';
import type { Agent } from '../loop/agent.ts';
import { type Clock, wallClock } from '../loop/clock.ts';
import { ticker } from '../loop/ticker.ts';
import { turns } from '../loop/turns.ts';
import { recordAside } from '../run/record-aside.ts';
import { closeLeftOver } from './close-left-over.ts';
import type { Common } from './common.ts';
import { endedCgroups } from './ended-cgroups.ts';
import { dayOf, type FleetRecording, recordFleet } from './fleet-recording.ts';
import { cgroupJobFolder, jobFolder } from './job-folder.ts';
import { JobRecording } from './job-recording.ts';
import { type JobRecords, jobRecords } from './job-records.ts';
import { lostEpilogs } from './lost-epilogs.ts';
import { tidyMarksFolders } from './marks-folder.ts';
import { recordMissed } from './missed-job.ts';
import { NodeJobs } from './node-jobs.ts';
import { sharedSources } from './shared-sources.ts';
import { type UserFolders, userFolders } from './user-folders.ts';

/** What takes recordings out of the spool: src/sinks/spool/spool.ts. */
export interface Outlet {
  /** `atOnce`: a job has begun or ended, and what there is of it waits for nothing. */
  wake(atOnce?: boolean): void;
  close(seconds: number): Promise<void>;
}

export interface ServiceOptions {
  /** Recordings are made in this folder. */
  spool: string;
  /** Job files come in here. */
  jobs: string;
  node: string;
  /** Of jobs that do not name another. */
  intervalSeconds: number;
  /** Of the node itself. */
  idleIntervalSeconds: number;
  /** Samples are taken so long after whole multiples of the interval. */
  offsetSeconds?: number;
  /** Tables that are recorded only when they are named. */
  also?: readonly string[];
  only: readonly string[];
  without: readonly string[];
  custom: readonly CustomSource[];
  writer: WriterOptions;
  redact: boolean;
  outlet?: Outlet;
  /** Look for jobs that no prolog told of (default: yes). */
  watchCgroups?: boolean;
  /** For the log. */
  say(line: string): void;
  /** '' on a live machine. */
  root?: string;
  clock?: Clock;
  run?: Run;
}

const LOOK_MS = 500;
/** Where nothing but files has to be looked for, and the system tells of them. */
const TOLD_LOOK_MS = 5_000;
/** What an agent before this one has left is closed when it is sure that no job goes on with it. */
const LEFT_OVER_MS = 3_000;
const LOST_EPILOG_LOOK_MS = 10_000;
const LAST_SEND_SECONDS = 5;

/** The agent of a node, always on: records the node itself, and every job that runs on it. */
export class Service {
  /** The jobs that are being recorded, by name. */
  readonly jobs = new Map<string, JobRecording>();
  fleet: FleetRecording;
  private readonly options: ServiceOptions;
  private readonly clock: Clock;
  private readonly common: Common;
  private readonly marks: NonNullable<Common['marks']>;
  private readonly folders: TakenFolder[];
  private readonly watch: NodeJobs;
  private readonly closing = new Set<Promise<void>>();
  private readonly reportedProblems = new Set<string>();
  /** Recordings that an agent before this one has left, and that are being closed. */
  private readonly old = new Set<string>();
  /** Recordings of jobs that have ended, while the rest of job.json is still to come. */
  private readonly ending = new Set<string>();
  private readonly stopping = new AbortController();
  private readonly disk: ReturnType<typeof trouble>;
  private readonly endTimers: (() => void)[] = [];

  constructor(options: ServiceOptions) {
    const { spool, say, root = '' } = options;
    const beside = path.dirname(path.resolve(options.jobs));
    this.options = options;
    this.clock = options.clock ?? wallClock();
    this.disk = trouble(say, () => this.clock.now() / 1000);
    this.folders = takeFolders(spool, beside);
    const host = new Host(root);
    keepBootTime(host, path.join(spool, '.boot.json'));
    this.marks = { folder: path.join(beside, 'marks/jobs'), users: userFolders(usersFolder(options.jobs)) };
    this.common = this.inCommon(host, beside);
    this.fleet = recordFleet(spool, options.idleIntervalSeconds, this.common);
    this.watch = this.watchJobs(host);
    // names of files in there are jobs of others
    makeFolder(options.jobs, 0o700);
    this.startTimers();
  }

  /** Everything that is being recorded. */
  recordings(): { job: Job; agent: Agent }[] {
    return [this.fleet, ...this.jobs.values()].map(({ job, agent }) => ({ job, agent }));
  }

  /** Looks for jobs now instead of at the next turn. */
  look(): void {
    try {
      this.common.view.forget();
      this.watch.look();
    } catch (error) {
      this.options.say(`looking for jobs: ${reason(error)}`);
    }
  }

  /** Ends the current part of all that is being written, so that it is compressed. */
  roll(): void {
    for (const { agent } of this.recordings()) agent.roll();
  }

  /** Takes the last samples and closes everything; jobs that go on are gone on with by the next service. */
  async stop(why: string): Promise<void> {
    const { outlet } = this.options;
    for (const end of this.endTimers) end();
    this.stopping.abort();
    await Promise.all([...this.jobs.values()].map((job) => job.pause(why)));
    await this.fleet.pause(why);
    await Promise.all(this.closing);
    await this.common.shared.close();
    this.common.records?.close();
    outlet?.wake();
    await outlet?.close(LAST_SEND_SECONDS);
    for (const folder of this.folders) folder.release();
  }

  private inCommon(host: Host, beside: string): Common {
    const { options, clock } = this;
    const isWanted = (name: string): boolean =>
      isChosen(name, { only: options.only, without: options.without, also: options.also ?? [] });
    const sayOnce = (error: unknown): void => this.sayOnce(reason(error));
    const before = (now: number): void => this.beforeTick(now);
    return {
      node: options.node,
      root: options.root ?? '',
      facts: nodeFacts(host),
      shared: sharedSources({ host, isWanted, custom: options.custom }),
      view: sharedView(host),
      clock,
      ticker: ticker(
        clock,
        { before, after: () => this.ticked(), failed: sayOnce },
        Math.round((options.offsetSeconds ?? 0) * 1e6),
      ),
      turns: turns(undefined, sayOnce),
      aside: recordAside(path.join(beside, 'unwritten.json')),
      writer: options.writer,
      redact: options.redact,
      isWanted,
      run: options.run ?? schedulerRunner(),
      later: oneAfterTheOther(options.say),
      ending: this.stopping.signal,
      marks: this.marks,
      ...stated({ records: openRecords(path.join(beside, 'records'), options.say, this.marks.users, isWanted) }),
    };
  }

  private watchJobs(host: Host): NodeJobs {
    const { options, clock, jobs } = this;
    return new NodeJobs({
      folder: options.jobs,
      ...(options.watchCgroups === false ? {} : { cgroups: cgroupJobs(host, options.node) }),
      endedCgroups: endedCgroups(path.join(options.spool, '.ended.json')),
      now: () => clock.now(),
      ahead: () => clock.ahead(),
      begun: (...job) => this.begin(...job),
      ended: (...job) => this.end(...job),
      inCgroup: (name, cgroup) => jobs.get(name)?.inCgroup(cgroup),
      announced: (name, job) => jobs.get(name)?.hearProlog(job),
      missed: (...job) => this.miss(...job),
      refused: (file, why) => options.say(`${file}: ${why}`),
    });
  }

  private startTimers(): void {
    const { options, jobs, common } = this;
    const look = (): void => this.look();
    const findLost = lostEpilogs({
      jobs: () => jobs,
      ask: (job) => schedulerNamed(job.scheduler).state(common.run, job, () => {}),
      ended: (name, end, why) => this.watch.forget(name, this.end(name, end, why)),
    });
    const watcher = watchFolder(options.jobs, look);
    look();
    // whether samples can be sent is known long before the first tick of an idle node
    options.outlet?.wake();
    const timers = [
      setInterval(look, watcher !== undefined && options.watchCgroups === false ? TOLD_LOOK_MS : LOOK_MS),
      setInterval(() => void findLost().catch((error) => options.say(reason(error))), LOST_EPILOG_LOOK_MS),
      setTimeout(() => this.closeLeftOvers(), LEFT_OVER_MS),
    ];
    this.endTimers.push(() => watcher?.close(), ...timers.map((timer) => () => clearTimeout(timer)));
  }

  private beforeTick(now: number): void {
    this.common.view.forget();
    if (this.jobs.size === 0) this.clock.settle();
    if (dayOf(now) !== this.fleet.day) this.changeDay(now);
  }

  private changeDay(now: number): void {
    const { spool, idleIntervalSeconds, say } = this.options;
    const yesterday = this.fleet;
    try {
      this.fleet = recordFleet(spool, idleIntervalSeconds, this.common);
    } catch (error) {
      // the old one goes on until there is room for a new one
      say(`${dayOf(now)} cannot be begun in ${spool}: ${reason(error)}`);
      return;
    }
    this.whenClosed(yesterday.folder, yesterday.end());
  }

  private ticked(): void {
    const { spool, outlet } = this.options;
    const why = this.recordings()
      .map(({ agent }) => agent.refusedBy)
      .find((problem) => problem !== undefined);
    for (const folder of this.folders) folder.note();
    const given = 'samples wait in memory, the oldest are given up when they are many';
    if (why === undefined) this.disk.right(`${spool} can be written again`);
    else this.disk.wrong(`cannot write to ${spool}: ${why}; ${given}`);
    outlet?.wake();
  }

  /** A recording whose folder was taken away fails at every tick. */
  private sayOnce(problem: string): void {
    if (!this.reportedProblems.has(problem)) this.options.say(`a tick: ${problem}`);
    this.reportedProblems.add(problem);
  }

  /** Whatever becomes of it, the service goes on. */
  private whenClosed(what: string, work: Promise<void>): Promise<void> {
    const done = work
      .catch((error) => this.options.say(`${what}: ${reason(error)}`))
      .finally(() => {
        this.closing.delete(done);
        this.options.outlet?.wake(true);
      });
    this.closing.add(done);
    return done;
  }

  private readonly isClosing = (folder: string): boolean => this.ending.has(folder);

  private begin(name: string, job: NodeJob, by: 'file' | 'cgroup', cgroup?: CgroupJob): void {
    const { spool, intervalSeconds, say, outlet } = this.options;
    const find = by === 'file' ? jobFolder : cgroupJobFolder;
    const { folder, exists: goesOn } = find(spool, job, this.isClosing);
    const recording = new JobRecording(folder, job, job.intervalSeconds ?? intervalSeconds, this.common, cgroup);
    for (const [other, running] of this.jobs) {
      running.sharesWith(name);
      recording.sharesWith(other);
    }
    this.jobs.set(name, recording);
    const whose = recording.job.user === '' ? '' : ` of ${recording.job.user}`;
    const what = goesOn ? 'goes on' : 'begins';
    say(`job ${name}${whose} ${what}${by === 'file' ? '' : ' (by its cgroup)'}: ${recording.folder}`);
    this.common.later(() => outlet?.wake(true));
  }

  private async end(name: string, end: NodeJobEnd, why: string): Promise<void> {
    const recording = this.jobs.get(name);
    if (recording === undefined) return;
    this.jobs.delete(name);
    this.ending.add(recording.folder);
    const over = recording.end(end, why).then(() => {
      const left = recording.agent.record.left_running ?? [];
      const daemons = left.map(({ pid, command }) => `${pid} ${command}`).join(', ');
      this.options.say(`job ${name} has ended${left.length === 0 ? '' : `; still running: ${daemons}`}`);
    });
    await this.whenClosed(`job ${name}`, over);
    this.ending.delete(recording.folder);
  }

  private async miss(name: string, job: NodeJob, end: NodeJobEnd): Promise<void> {
    const { spool, say, intervalSeconds } = this.options;
    const { folder, exists: isKnown } = jobFolder(spool, job, this.isClosing);
    if (!isKnown) {
      say(`job ${name} has begun and ended while no agent was running: not recorded`);
      // of an end that comes without its beginning nobody knows what it was
      if (job.begin === undefined) return;
      recordMissed(folder, job, end, job.intervalSeconds ?? intervalSeconds, this.common);
    }
    await this.closeOld(folder, end);
  }

  private async closeOld(folder: string, end?: NodeJobEnd): Promise<void> {
    if (this.old.has(folder)) return;
    this.old.add(folder);
    await this.whenClosed(folder, closeLeftOver(folder, this.common, end));
  }

  private closeLeftOvers(): void {
    const { spool } = this.options;
    const current = new Set([this.fleet, ...this.jobs.values()].map(({ folder }) => folder));
    for (const name of fs.readdirSync(spool)) {
      const folder = path.join(spool, name);
      if (!/^(job|fleet)-/.test(name) || current.has(folder) || readJob(folder)?.end !== undefined) continue;
      void this.closeOld(folder);
    }
    // only what was taken over may go
    void Promise.all(this.closing).then(() => this.tidy());
  }

  /** Removes what jobs that nobody records any more have left, and where they could say something. */
  private async tidy(): Promise<void> {
    const { folder, users } = this.marks;
    this.common.records?.tidy([...this.jobs.keys()].map((name) => `job-${name}`));
    const isWanted = (name: string): boolean => this.jobs.has(name.replace(/^job-/, ''));
    await tidyMarksFolders(folder, users, isWanted, (name, error) =>
      this.options.say(`${folder}: ${name} cannot be removed: ${reason(error)}`),
    );
  }
}

/** Does what can be done a moment later, one thing at a time: a tick that is due comes between. */
function oneAfterTheOther(say: (line: string) => void): (work: () => void) => void {
  const waiting: (() => void)[] = [];
  const next = (): void => {
    try {
      waiting[0]!();
    } catch (error) {
      say(reason(error));
    }
    waiting.shift();
    if (waiting.length > 0) setImmediate(next);
  };
  return (work) => {
    if (waiting.push(work) === 1) setImmediate(next);
  };
}

/** Where processes of jobs record themselves, if the library for it is here and does its work. */
function openRecords(
  folder: string,
  say: (line: string) => void,
  users: UserFolders,
  isWanted: (table: string) => boolean,
): JobRecords | undefined {
  if (!RECORD_KINDS.some((kind) => isWanted(kind.table.name))) return undefined;
  try {
    const trouble = tryLibraryHere(process.env);
    if (trouble !== undefined) throw new Error(trouble);
    const library = libraryOf(process.env);
    const cannot = whyPrivate(library);
    if (cannot !== undefined)
      say(`tasks of jobs cannot record themselves: users cannot read ${library}, for ${cannot}`);
    return jobRecords(folder, users);
  } catch (error) {
    say(`processes of jobs cannot record themselves: ${reason(error)}`);
    return undefined;
  }
}

/** Tells at once that something came; a look now and then sees what this misses. */
function watchFolder(folder: string, look: () => void): fs.FSWatcher | undefined {
  try {
    const watcher = fs.watch(folder, { persistent: false }, look);
    watcher.on('error', () => {});
    return watcher;
  } catch {
    return undefined;
  }
}

/** Two agents in one spool would write to the same files; what lies beside the jobs folder each would tidy away as left over. */
function takeFolders(spool: string, beside: string): TakenFolder[] {
  const first = new TakenFolder(spool, 0o700, '--spool FOLDER (setting service.spool)');
  try {
    // users come through it to what is theirs, before anything in it is made that they must not see
    return [first, new TakenFolder(beside, 0o711, '--jobs FOLDER/jobs (setting service.jobs)')];
  } catch (error) {
    first.release();
    throw error;
  }
}

/** A folder that no other agent records in. */
class TakenFolder {
  private readonly file: string;
  private noted = false;

  constructor(folder: string, mode: number, choice: string) {
    this.file = path.join(folder, '.agent.json');
    try {
      makeFolder(folder, mode);
      const other = JSON.parse(fs.readFileSync(this.file, 'utf8')) as ProcessId;
      if (other.pid !== process.pid && stillRuns(other)) {
        throw new Fault(`an agent (process ${other.pid}) records in ${folder} already`, {
          hint: `one agent a node is enough; another one needs folders of its own (--spool A/spool --jobs A/jobs)`,
        });
      }
    } catch (error) {
      if (error instanceof Fault) throw error;
      if (!fs.existsSync(folder))
        throw new Fault(`cannot make ${folder}: ${reason(error)}`, { hint: `${choice} chooses another` });
    }
    try {
      this.note();
    } catch (error) {
      throw new Fault(`cannot write ${folder}: ${reason(error)}`, {
        hint: `the agent needs a folder that it may write to: ${choice}`,
      });
    }
  }

  /** Says so once a full disk has room. */
  note(): void {
    if (this.noted) return;
    try {
      replaceJson(this.file, processId(process.pid));
      this.noted = true;
    } catch (error) {
      if (!isUnwritable(error)) throw error;
    }
  }

  release(): void {
    try {
      if (this.noted) fs.unlinkSync(this.file);
    } catch {
      // a disk that cannot be written: the next agent sees that this one has ended
    }
  }
}
