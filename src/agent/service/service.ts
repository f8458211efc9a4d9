import * as fs from 'node:fs';
import * as path from 'node:path';
import { Fault, isUnwritable, reason } from '../../base/fault.ts';
import { makeFolder } from '../../base/folder.ts';
import { trouble } from '../../base/trouble.ts';
import { libraryOf, tryLibraryHere } from '../../control/preload.ts';
import { whyPrivate } from '../../control/private-path.ts';
import { type CgroupJob, cgroupJobs } from '../../jobs/found/cgroup-jobs.ts';
import type { NodeJob, NodeJobEnd } from '../../jobs/found/job-file.ts';
import { type ProcessId, processId, stillRuns } from '../../jobs/found/process-id.ts';
import { usersFolder } from '../../jobs/found/user-jobs.ts';
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
import { sharedView } from '../../sources/process/view.ts';
import { RECORD_KINDS } from '../../sources/records/records.ts';
import type { Agent } from '../loop/agent.ts';
import { type Clock, wallClock } from '../loop/clock.ts';
import { ticker } from '../loop/ticker.ts';
import { turns } from '../loop/turns.ts';
import { recordAside } from '../run/record-aside.ts';
import { closeLeftOver } from './close-left-over.ts';
import { endedCgroups } from './ended-cgroups.ts';
import { dayOf, type FleetRecording, recordFleet } from './fleet-recording.ts';
import { cgroupJobFolder, jobFolder } from './job-folder.ts';
import { type Common, type JobRecording, recordJob } from './job-recording.ts';
import { type JobRecords, jobRecords } from './job-records.ts';
import { lostEpilogs } from './lost-epilogs.ts';
import { tidyPlaces } from './marks-place.ts';
import { recordMissed } from './missed-job.ts';
import { nodeJobs } from './node-jobs.ts';
import { sharedSources } from './shared-sources.ts';
import { type UserPlaces, userPlaces } from './user-places.ts';

/** What takes recordings out of the spool: src/sinks/spool/spool.ts. */
export interface Outlet {
  wake(): void;
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

export interface Service {
  /** The jobs that are being recorded, by name. */
  readonly jobs: ReadonlyMap<string, JobRecording>;
  readonly fleet: FleetRecording;
  /** Everything that is being recorded. */
  recordings(): { job: Job; agent: Agent }[];
  /** Looks for jobs now instead of at the next turn. */
  look(): void;
  /** Ends the current part of all that is being written, so that it is compressed. */
  roll(): void;
  /** Takes the last samples and closes everything; jobs that go on are gone on with by the next service. */
  stop(why: string): Promise<void>;
}

const LOOK_MS = 500;
/** What an agent before this one has left is closed when it is sure that no job goes on with it. */
const LEFT_OVER_MS = 3_000;
const LOST_EPILOG_LOOK_MS = 10_000;
const LAST_SEND_SECONDS = 5;

/** The agent of a node, always on: records the node itself, and every job that runs on it. */
export function startService(options: ServiceOptions): Service {
  const { spool, say } = options;
  const clock = options.clock ?? wallClock();
  const host = new Host(options.root ?? '');
  const taken = takeFolders(options);
  keepBootTime(host, path.join(spool, '.boot.json'));
  const isWanted = (name: string): boolean =>
    !options.without.includes(name) && (options.only.length === 0 || options.only.includes(name));
  const shared = sharedSources({ host, isWanted, custom: options.custom });
  const closing = new Set<Promise<void>>();
  const said = new Set<string>();
  /** Recordings that an agent before this one has left, and that are being closed. */
  const old = new Set<string>();
  const jobs = new Map<string, JobRecording>();
  /** Recordings of jobs that have ended, while the rest of job.json is still to come. */
  const ending = new Set<string>();
  const isClosing = (folder: string): boolean => ending.has(folder);
  const stopping = new AbortController();
  /** What can be done a moment later. */
  const waiting: (() => void)[] = [];
  const marks = {
    folder: path.join(path.dirname(path.resolve(options.jobs)), 'marks/jobs'),
    users: userPlaces(usersFolder(options.jobs)),
  };
  const common: Common = {
    node: options.node,
    root: options.root ?? '',
    facts: nodeFacts(host),
    shared,
    view: sharedView(host),
    clock,
    ticker: ticker(clock, { before: beforeTick, after: ticked, failed: sayOnce }),
    turns: turns(undefined, sayOnce),
    aside: recordAside(path.join(path.dirname(path.resolve(options.jobs)), 'unwritten.json')),
    writer: options.writer,
    redact: options.redact,
    isWanted,
    run: options.run ?? schedulerRunner(),
    later,
    ending: stopping.signal,
    marks,
  };
  const records = openRecords(options, marks.users, isWanted);
  if (records !== undefined) common.records = records;
  let fleet = recordFleet(spool, options.idleIntervalSeconds, common);

  const disk = trouble(say, () => clock.now() / 1000);

  function ticked(): void {
    const why = [fleet, ...jobs.values()].map(({ agent }) => agent.refusedBy).find((words) => words !== undefined);
    taken.note();
    if (why === undefined) disk.right(`${spool} can be written again`);
    else
      disk.wrong(
        `cannot write to ${spool}: ${why}; samples wait in memory, the oldest are given up when they are many`,
      );
    options.outlet?.wake();
  }

  /** Whatever becomes of it, the service goes on. */
  function whenClosed(what: string, work: Promise<void>): Promise<void> {
    const done = work
      .catch((error) => say(`${what}: ${reason(error)}`))
      .finally(() => {
        closing.delete(done);
        options.outlet?.wake();
      });
    closing.add(done);
    return done;
  }

  /** A recording whose folder was taken away fails at every tick. */
  function sayOnce(error: unknown): void {
    const words = reason(error);
    if (!said.has(words)) say(`a tick: ${words}`);
    said.add(words);
  }

  async function closeOld(folder: string, end?: NodeJobEnd): Promise<void> {
    if (old.has(folder)) return;
    old.add(folder);
    await whenClosed(folder, closeLeftOver(folder, common, end));
  }

  /** One at a time: a tick that is due comes between. */
  function later(work: () => void): void {
    if (waiting.push(work) === 1) setImmediate(next);
  }

  function next(): void {
    const [work] = waiting;
    try {
      work!();
    } catch (error) {
      say(reason(error));
    }
    waiting.shift();
    if (waiting.length > 0) setImmediate(next);
  }

  function beforeTick(now: number): void {
    common.view.forget();
    changeDay(now);
  }

  function changeDay(now: number): void {
    if (jobs.size === 0) clock.settle();
    if (dayOf(now) === fleet.day) return;
    const yesterday = fleet;
    try {
      fleet = recordFleet(spool, options.idleIntervalSeconds, common);
    } catch (error) {
      // the old one goes on until there is room for a new one
      say(`${dayOf(now)} cannot be begun in ${spool}: ${reason(error)}`);
      return;
    }
    whenClosed(yesterday.folder, yesterday.end());
  }

  function begun(name: string, job: NodeJob, by: 'file' | 'cgroup', cgroup?: CgroupJob): void {
    const find = by === 'file' ? jobFolder : cgroupJobFolder;
    const { folder, known: goesOn } = find(spool, job, isClosing);
    const recording = recordJob(folder, job, job.intervalSeconds ?? options.intervalSeconds, common, cgroup);
    for (const [other, running] of jobs) {
      running.sharesWith(name);
      recording.sharesWith(other);
    }
    jobs.set(name, recording);
    const whose = recording.job.user === '' ? '' : ` of ${recording.job.user}`;
    const what = goesOn ? 'goes on' : 'begins';
    say(`job ${name}${whose} ${what}${by === 'file' ? '' : ' (by its cgroup)'}: ${recording.folder}`);
    later(() => options.outlet?.wake());
  }

  async function ended(name: string, end: NodeJobEnd, why: string): Promise<void> {
    const recording = jobs.get(name);
    if (recording === undefined) return;
    jobs.delete(name);
    ending.add(recording.folder);
    const over = recording.end(end, why).then(() => {
      const left = recording.agent.record.left_running ?? [];
      const daemons = left.map(({ pid, command }) => `${pid} ${command}`).join(', ');
      say(`job ${name} has ended${left.length === 0 ? '' : `; still running: ${daemons}`}`);
    });
    await whenClosed(`job ${name}`, over);
    ending.delete(recording.folder);
  }

  const watch = nodeJobs({
    folder: options.jobs,
    ...(options.watchCgroups === false ? {} : { cgroups: cgroupJobs(host, options.node) }),
    endedCgroups: endedCgroups(path.join(spool, '.ended.json')),
    now: () => clock.now(),
    ahead: () => clock.ahead(),
    begun,
    ended,
    inCgroup: (name, cgroup) => jobs.get(name)?.inCgroup(cgroup),
    told: (name, job) => jobs.get(name)?.told(job),
    async missed(name, job, end) {
      const { folder, known } = jobFolder(spool, job, isClosing);
      if (!known) {
        say(`job ${name} has begun and ended while no agent was running: not recorded`);
        // of an end that comes without its beginning nobody knows what it was
        if (job.begin === undefined) return;
        recordMissed(folder, job, end, job.intervalSeconds ?? options.intervalSeconds, common);
      }
      await closeOld(folder, end);
    },
    refused: (file, why) => say(`${file}: ${why}`),
  });
  const look = (): void => {
    try {
      common.view.forget();
      watch.look();
    } catch (error) {
      say(`looking for jobs: ${reason(error)}`);
    }
  };

  const findLost = lostEpilogs({
    jobs: () => jobs,
    ask: (job) => schedulerNamed(job.scheduler).state(common.run, job, () => {}),
    ended: (name, end, why) => watch.forget(name, ended(name, end, why)),
  });

  /** Where jobs that nobody records any more could say something. */
  async function tidy(): Promise<void> {
    const isWanted = (name: string): boolean => jobs.has(name.replace(/^job-/, ''));
    await tidyPlaces(marks.folder, marks.users, isWanted, (name, error) =>
      say(`${marks.folder}: ${name} cannot be removed: ${reason(error)}`),
    );
  }

  // names of files in there are jobs of others
  makeFolder(options.jobs, 0o700);
  const watcher = watchFolder(options.jobs, look);
  look();
  // whether samples can be sent is known long before the first tick of an idle node
  options.outlet?.wake();
  const timers = [
    setInterval(look, LOOK_MS),
    setInterval(() => void findLost().catch((error) => say(reason(error))), LOST_EPILOG_LOOK_MS),
  ];
  const leftOver = setTimeout(() => {
    const current = new Set([fleet.folder, ...[...jobs.values()].map(({ folder }) => folder)]);
    for (const name of fs.readdirSync(spool)) {
      const folder = path.join(spool, name);
      if (!/^(job|fleet)-/.test(name) || current.has(folder) || readJob(folder)?.end !== undefined) continue;
      void closeOld(folder);
    }
    // only what was taken over may go
    void Promise.all(closing).then(() => {
      records?.tidy([...jobs.keys()].map((name) => `job-${name}`));
      void tidy();
    });
  }, LEFT_OVER_MS);

  return {
    jobs,
    get fleet() {
      return fleet;
    },
    look,
    recordings: () => [fleet, ...jobs.values()].map(({ job, agent }) => ({ job, agent })),
    roll() {
      for (const { agent } of [fleet, ...jobs.values()]) agent.roll();
    },
    async stop(why) {
      watcher?.close();
      clearTimeout(leftOver);
      stopping.abort();
      for (const timer of timers) clearInterval(timer);
      await Promise.all([...jobs.values()].map((job) => job.pause(why)));
      await fleet.pause(why);
      await Promise.all(closing);
      await shared.close();
      records?.close();
      options.outlet?.wake();
      await options.outlet?.close(LAST_SEND_SECONDS);
      taken.release();
    },
  };
}

/** Where processes of jobs record themselves, if the library for it is here and does its work. */
function openRecords(
  { jobs, say }: ServiceOptions,
  users: UserPlaces,
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
    return jobRecords(path.join(path.dirname(path.resolve(jobs)), 'records'), users);
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

interface Taken {
  /** Says so once a full disk has room. */
  note(): void;
  release(): void;
}

/** Two agents in one spool would write to the same files; what lies beside the jobs folder each would tidy away as left over. */
function takeFolders({ spool, jobs }: Pick<ServiceOptions, 'spool' | 'jobs'>): Taken {
  const first = takeFolder(spool, 0o700, '--spool FOLDER (setting service.spool)');
  try {
    // users come through it to what is theirs, before anything in it is made that they must not see
    const second = takeFolder(path.dirname(path.resolve(jobs)), 0o711, '--jobs FOLDER/jobs (setting service.jobs)');
    return {
      note() {
        first.note();
        second.note();
      },
      release() {
        first.release();
        second.release();
      },
    };
  } catch (error) {
    first.release();
    throw error;
  }
}

function takeFolder(folder: string, mode: number, choice: string): Taken {
  const file = path.join(folder, '.agent.json');
  try {
    makeFolder(folder, mode);
    const other = JSON.parse(fs.readFileSync(file, 'utf8')) as ProcessId;
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
  let noted = false;
  const note = (): void => {
    if (noted) return;
    try {
      replaceJson(file, processId(process.pid));
      noted = true;
    } catch (error) {
      if (!isUnwritable(error)) throw error;
    }
  };
  try {
    note();
  } catch (error) {
    throw new Fault(`cannot write ${folder}: ${reason(error)}`, {
      hint: `the agent needs a folder that it may write to: ${choice}`,
    });
  }
  const release = (): void => {
    try {
      if (noted) fs.unlinkSync(file);
    } catch {
      // a disk that cannot be written: the next agent sees that this one has ended
    }
  };
  return { note, release };
}
