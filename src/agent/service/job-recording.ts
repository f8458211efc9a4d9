import * as fs from 'node:fs';
import * as path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { reason } from '../../base/fault.ts';
import { stated } from '../../base/stated.ts';
import { VERSION } from '../../base/version.ts';
import { libraryOf } from '../../control/preload.ts';
import { READABLE, whyPrivate } from '../../control/private-path.ts';
import { type CgroupJob, isOlderThan } from '../../jobs/found/cgroup-jobs.ts';
import { jobName, type NodeJob, type NodeJobEnd } from '../../jobs/found/job-file.ts';
import { allowance, jobScope } from '../../jobs/found/scope.ts';
import type { Run } from '../../jobs/schedulers/command.ts';
import { keptEnvironment } from '../../jobs/schedulers/environment.ts';
import { schedulerNamed } from '../../jobs/schedulers/job-facts.ts';
import { signalName } from '../../jobs/schedulers/scheduler.ts';
import { AGENT_NEEDS, type AgentRecord } from '../../recording/folder/agent-record.ts';
import { saveJob } from '../../recording/folder/create.ts';
import { FORMAT, type Job } from '../../recording/folder/job.ts';
import { nodeFolder } from '../../recording/folder/node-folder.ts';
import { readJob } from '../../recording/folder/open.ts';
import { MOST_BYTES, readJson } from '../../recording/folder/record-file.ts';
import { shaped } from '../../recording/folder/shape.ts';
import type { WriterOptions } from '../../recording/live/append.ts';
import type { NodeFacts } from '../../sources/host/facts.ts';
import { userNames } from '../../sources/host/user-names.ts';
import { Host } from '../../sources/host.ts';
import { sources } from '../../sources/index.ts';
import type { SharedView } from '../../sources/process/view.ts';
import { RECORD_KINDS } from '../../sources/records/records.ts';
import type { Records, Scope } from '../../sources/scope.ts';
import { cgroupTable, markerTable, processEndTable, processTable } from '../../sources/tables.ts';
import { TOO_MANY_MARKS } from '../../sources/too-much.ts';
import { Agent } from '../loop/agent.ts';
import type { Clock } from '../loop/clock.ts';
import { prepared } from '../loop/prepared.ts';
import type { Ticker } from '../loop/ticker.ts';
import type { Turns } from '../loop/turns.ts';
import type { RecordAside } from '../run/record-aside.ts';
import { type JobMarks, jobMarks } from './job-marks.ts';
import type { JobRecords } from './job-records.ts';
import { rememberProcesses } from './left-running.ts';
import { processTotals } from './process-totals.ts';
import { type SharedSources, WHOLE_NODE } from './shared-sources.ts';
import { totalsBefore } from './totals-before.ts';
import type { UserPlaces } from './user-places.ts';

/** What all recordings of a service have in common. */
export interface Common {
  node: string;
  root: string;
  facts: NodeFacts;
  shared: SharedSources;
  ticker: Ticker;
  /** For what cannot be said in a recording. */
  aside: RecordAside;
  /** For what jobs have written, a little of each at a time. */
  turns: Turns;
  /** The node's processes, for all jobs that look at the same moment. */
  view: SharedView;
  clock: Clock;
  writer: WriterOptions;
  redact: boolean;
  isWanted(table: string): boolean;
  /** Runs the scheduler's commands. */
  run: Run;
  /** Where processes of jobs record themselves; undefined: they do not. */
  records?: JobRecords;
  /** Does this when nothing else is to be done at once. */
  later(work: () => void): void;
  /** The service ends: nobody waits for anything any more. */
  ending: AbortSignal;
  /** Where jobs leave marks and annotations (src/agent/service/job-marks.ts), and where users find what is theirs; undefined: nowhere. */
  marks?: { folder: string; users: UserPlaces };
}

/** What all agents of a service have alike. */
export const inCommon = ({ aside, node, writer, clock, ticker, turns }: Common, before: AgentRecord | undefined) => ({
  aside,
  node,
  writer,
  clock,
  ticker,
  turns,
  shared: true,
  ...stated({ before }),
});

export interface JobRecording {
  readonly folder: string;
  readonly job: Job;
  readonly agent: Agent;
  /** Whether the job had a process here when it was last looked at. */
  hasProcesses(): boolean;
  /** When it was last seen to have one, in epoch microseconds. */
  readonly lastProcess: number | undefined;
  /** Its processes are told by this cgroup from now on. */
  inCgroup(cgroup: CgroupJob): void;
  /** What a prolog says of a job that was found by its cgroup. */
  told(said: NodeJob): void;
  /** This job runs on the node too. */
  sharesWith(name: string): void;
  /** Takes the last sample, names what is left of the job, completes job.json. */
  end(end: NodeJobEnd, why: string): Promise<void>;
  /** The agent ends, the job goes on. */
  pause(why: string): Promise<void>;
}

const MARKS_MS = 1000;
/** What a job's user has left may take long to remove: nobody waits longer for it. */
const REMOVE_MS = 2000;
/** The scheduler is asked again so much later while it still calls the job running: epilogs are a part of it. */
const ASK_AGAIN_MS = [300, 700, 1500, 3000];
/** Slurm makes a job's cgroup in one hierarchy after the other: those that count CPU time and memory may come later. */
const CGROUP_AGAIN_MS = [500, 2000];
/** An agent that was there has its first sample of a job long before this, in microseconds. */
const LATE = 10e6;

/** Records a job on this node; the first sample is taken before this returns. A recording that is there is gone on with. */
export function recordJob(
  folder: string,
  told: NodeJob,
  intervalSeconds: number,
  common: Common,
  cgroup?: CgroupJob,
): JobRecording {
  const host = new Host(common.root);
  const now = common.clock.now();
  const before = readJob(folder);
  let job: Job = before === undefined ? newJob(told, intervalSeconds, now, common, host) : goesOn(before);
  const nodePath = path.join(folder, nodeFolder(common.node));
  const prepare = prepared(folder, nodePath, () => job, before === undefined || before.end !== undefined);
  // as its tasks know it: of several runs of an id one runs
  const recordsName = `job-${jobName(told)}`;
  const old = common.aside.complete(nodePath, readAgent(nodePath));
  const facts: NodeFacts = { ...common.facts, gpus: [...common.facts.gpus] };
  const agent = new Agent({
    ...inCommon(common, old),
    folder: nodePath,
    prepare,
    host,
    facts,
    intervalSeconds: job.interval_seconds,
  });
  const processes = sources.find((kind) => kind.table.name === processTable.name)!;
  const remembered = rememberProcesses(processes, host);
  const totals = processTotals(host, old === undefined ? undefined : (totalsBefore(nodePath) ?? 'unknown'));
  const own = sources
    .filter((kind) => kind.table.scope === 'job' && !RECORD_KINDS.includes(kind) && common.isWanted(kind.table.name))
    .map((kind) => (kind === processes ? totals.watch(remembered.kind) : kind));
  const scopeOf = (cgroup: string | undefined) => ({
    totals,
    memory: { pss_bytes: Number.NaN, shared_bytes: Number.NaN },
    view: common.view,
    ...jobScope({
      id: told.environment.SLURM_JOB_ID ?? told.id,
      scheduler: told.scheduler,
      uid: job.uid,
      exclude: [process.pid],
      redact: common.redact,
      ...stated({ cgroup }),
    }),
  });
  agent.open(common.shared.kinds, WHOLE_NODE);
  common.shared.attach(agent, told.environment);
  const records = openRecords();
  let over = false;
  let byHook = told.begin !== undefined;
  agent.open(own, cgroup === undefined ? scopeOf(undefined) : limited(cgroup));
  if (cgroup !== undefined) lookAgain(cgroup);
  if (job.uid < 0 && cgroup === undefined) {
    const why = 'the job file does not say whose job it is (SLURM_JOB_UID)';
    agent.note({ table: processTable.name, what: 'processes', why });
  }
  agent.start('saved later');
  let marks: JobMarks | undefined;
  let learned: Promise<void> | undefined;
  const marksTimer = setInterval(() => common.turns.add(takeMarks), MARKS_MS);
  marksTimer.unref();

  const isFirst = job.nodes.length === 0 || job.nodes[0] === common.node;
  const scheduler = job.scheduler === 'slurm' || job.scheduler === 'pbs' ? schedulerNamed(job.scheduler) : undefined;
  const learn = async (): Promise<void> => {
    if (!isFirst || scheduler === undefined || before !== undefined) return;
    // a task of an array is asked for by its own number
    const { SLURM_ARRAY_JOB_ID: _, SLURM_ARRAY_TASK_ID: __, ...environment } = told.environment;
    const found = await scheduler.facts(common.run, environment, (what, why) => {
      agent.note({ table: 'job', what, why });
    });
    const { name, account, partition, directory, asked, per_node, submit, nodes, command, array, het } = found;
    const more = stated({ name, account, partition, directory, per_node, submit, command }) as Partial<Job>;
    if (common.redact) delete more.command;
    job = {
      ...job,
      ...more,
      asked: { ...job.asked, ...asked },
      tags: {
        ...(array === undefined ? {} : { array_job: array.job, array_task: array.task }),
        ...(het === undefined ? {} : { het_job: het.job, het_component: het.component }),
        ...job.tags,
      },
      nodes: nodes.length > job.nodes.length ? nodes : job.nodes,
    };
    save();
  };
  const save = (): void => {
    try {
      // what is stored elsewhere may have gone from here
      if (fs.existsSync(folder)) saveJob(folder, job);
    } catch (error) {
      agent.note({ table: 'job', what: 'job.json', why: reason(error) });
    }
  };
  /** What need not be done before other jobs that begin at this moment have their first samples, too. */
  const settle = (): void => {
    if (learned !== undefined) return;
    agent.save();
    marks = openMarks();
    learned = learn().catch((error) => agent.note({ table: 'job', what: 'the scheduler', why: reason(error) }));
  };
  common.later(settle);

  return {
    folder,
    agent,
    get job() {
      return job;
    },
    hasProcesses: () => remembered.isAny(),
    get lastProcess() {
      return remembered.lastSeen;
    },
    inCgroup(found) {
      agent.reopen(own, limited(found));
      agent.glance();
      lookAgain(found);
    },
    told({ begin, cluster, account, partition, directory, tags }) {
      byHook = true;
      job = {
        ...stated({ cluster, account, partition, directory }),
        ...job,
        start: Math.min(job.start, begin ?? job.start),
        tags: { ...tags, ...job.tags },
      };
      save();
    },
    sharesWith(name) {
      const others = agent.record.shared_with ?? [];
      if (others.includes(name)) return;
      agent.record.shared_with = [...others, name];
      // of many jobs that begin together each would be written as often as there are others
      agent.saveSoon();
    },
    async end(end, why) {
      settle();
      over = true;
      const ended = end.end ?? common.clock.now();
      common.records?.forget(recordsName);
      clearInterval(marksTimer);
      common.view.forget();
      await agent.stop(why, common.ending);
      noteSilence();
      await common.turns.finish(takeMarks, common.ending);
      try {
        job = { ...job, ...stated({ own_use: marks?.ownUse() }) };
        await Promise.race([marks?.remove(), sleep(REMOVE_MS, undefined, { ref: false })]);
      } catch (error) {
        agent.note({ table: markerTable.name, what: 'what the job left', why: reason(error) });
      }
      agent.record.left_running = remembered.alive(common.redact);
      agent.save();
      await learned;
      job = { ...job, ...outcome(end), end: Math.max(ended, job.start) };
      const said = isFirst && scheduler !== undefined ? await ask() : undefined;
      // Slurm has whole seconds
      const exact = end.end !== undefined && end.guessed !== true;
      if (said !== undefined) job = { ...job, ...said, end: exact ? job.end! : (said.end ?? job.end!) };
      save();
    },
    pause(why) {
      settle();
      over = true;
      if (records !== undefined) records.keep = true;
      clearInterval(marksTimer);
      takeMarks();
      marks?.close();
      common.view.forget();
      return agent.stop(why);
    },
  };

  function lookAgain(found: CgroupJob): void {
    const counting = own.filter(({ table }) => table.name === cgroupTable.name);
    for (const wait of CGROUP_AGAIN_MS) {
      const look = (): void => {
        // a job has a cgroup only while a step of it runs here
        if (over || !host.exists(found.folder)) return;
        agent.unnote(cgroupTable.name);
        agent.reopen(counting, limited(found));
      };
      setTimeout(look, wait).unref();
    }
  }

  /** The job by its cgroup, with what that lets it have. */
  function limited(found: CgroupJob): Scope {
    const by = scopeOf(found.path);
    const older = isOlderThan(host, found.path, job.start + common.clock.ahead());
    const scope: Scope = older ? { ...by, cgroup: { ...by.cgroup!, older } } : by;
    const share = allowance(host, scope);
    if (share.cpus !== undefined) facts.allowed_cpus = share.cpus;
    if (share.memory_bytes !== undefined) facts.memory_limit_bytes = share.memory_bytes;
    return scope;
  }

  /** What processes say themselves is read from before the first of them starts. */
  function openRecords(): Records | undefined {
    const kinds = RECORD_KINDS.filter((kind) => common.isWanted(kind.table.name));
    if (common.records === undefined || kinds.length === 0 || job.uid < 0) return undefined;
    try {
      const place = common.records.place(recordsName, job, folder);
      agent.open(kinds.map(totals.watch), { ...WHOLE_NODE, redact: common.redact, records: place });
      return place;
    } catch (error) {
      agent.note({ table: processEndTable.name, what: 'processes that record themselves', why: reason(error) });
      return undefined;
    }
  }

  /** Slurm runs our prolog, but the job's processes have not heard of us. */
  function noteSilence(): void {
    const written = agent.record.written ?? [];
    const isSilent = records !== undefined && !RECORD_KINDS.some(({ table }) => written.includes(table.name));
    if (!isSilent || !byHook || job.scheduler !== 'slurm' || !written.includes(processTable.name)) return;
    const what = 'processes that ended between two samples';
    const since = common.clock.now() - process.uptime() * 1e6;
    if (agent.record.first_sample! - job.start > LATE || (before === undefined && job.start < since)) {
      const why = 'no process of the job recorded itself: it had begun before the agent of the node was there';
      agent.note({ table: processEndTable.name, what, why });
      return;
    }
    const cannot = whyPrivate(libraryOf({}));
    if (cannot !== undefined) {
      const why = `no process of the job recorded itself: users cannot read Tacho's library, for ${cannot}`;
      agent.note({ table: processEndTable.name, what, why, hint: READABLE });
      return;
    }
    const why = 'no process of the job recorded itself: Slurm did not run the task prolog of Tacho for it';
    const hint = 'TaskProlog in slurm.conf: tacho slurm hooks --task-prolog (docs/cluster-agent.md)';
    agent.note({ table: processEndTable.name, what, why, hint });
  }

  /** What the job's own programs say of it (`tacho mark`, `tacho annotate`). */
  function openMarks(): JobMarks | undefined {
    if (common.marks === undefined || job.uid < 0) return undefined;
    const name = path.join(common.marks.folder, recordsName);
    const shown = records === undefined ? job : { ...job, process_records: { file: records.file, events: [] } };
    try {
      const { node, clock } = common;
      return jobMarks({
        name,
        users: common.marks.users,
        job: shown,
        recording: folder,
        node,
        now: () => clock.now(),
        // phases begin and end with a sample
        phase: () => agent.glance(),
        ahead: () => clock.ahead(),
      });
    } catch (error) {
      agent.note({ table: markerTable.name, what: 'marks and annotations by the job', why: reason(error) });
      return undefined;
    }
  }

  /** A little of them at a time; true: there is more. */
  function takeMarks(): boolean {
    if (marks === undefined) return false;
    try {
      const more = marks.takeMarks();
      if (marks.lost > 0) agent.lose({ table: markerTable.name, rows: marks.lost, why: TOO_MANY_MARKS });
      const said = marks.takeWords();
      if (said === undefined) return more;
      job = { ...job, ...said, tags: { ...job.tags, ...said.tags } };
      save();
      return more;
    } catch (error) {
      agent.note({ table: markerTable.name, what: 'marks and annotations by the job', why: reason(error) });
      return false;
    }
  }

  async function ask() {
    for (const pause of ASK_AGAIN_MS) {
      let trouble = false;
      const found = await scheduler!.state(common.run, { ...job }, () => {
        trouble = true;
      });
      if (found !== undefined && found.state !== 'running') return found;
      if (trouble) return undefined;
      await sleep(pause);
    }
    return undefined;
  }
}

/** As far as an epilog knows: what ended by a signal may have been cancelled, which only the scheduler can say. */
export function outcome({ exitCode, signal }: NodeJobEnd): Pick<Job, 'state'> & Partial<Job> {
  if (signal !== undefined)
    return { state: 'failed', signal: signalName(signal), reason: `ended by ${signalName(signal)}` };
  if (exitCode === undefined) return { state: 'unknown' };
  return { state: exitCode === 0 ? 'completed' : 'failed', exit_code: exitCode };
}

/** What a job file says of a job. */
export function newJob(told: NodeJob, intervalSeconds: number, now: number, common: Common, host: Host): Job {
  const { restart, cluster, account, partition, directory } = told;
  return {
    format: FORMAT,
    tacho: VERSION,
    id: told.id,
    ...stated({ restart, cluster, account, partition, directory }),
    scheduler: told.scheduler,
    name: told.name ?? told.id,
    user: told.user ?? (told.uid === undefined ? '' : userNames(host)(told.uid)),
    uid: told.uid ?? -1,
    asked: told.nodes.length === 0 ? {} : { nodes: told.nodes.length },
    nodes: told.nodes.length === 0 ? [common.node] : told.nodes,
    interval_seconds: intervalSeconds,
    start: told.begin !== undefined && told.begin <= now ? told.begin : now,
    state: 'running',
    tags: told.tags,
    environment: keptEnvironment(told.environment),
    ...(common.redact ? { redacted: true } : {}),
  };
}

/** It was taken for ended, and is not. */
function goesOn(job: Job): Job {
  const { end: _, exit_code: __, signal: ___, reason: ____, ...rest } = job;
  return { ...rest, state: 'running' };
}

export function readAgent(folder: string): AgentRecord | undefined {
  try {
    return shaped<AgentRecord>(readJson(path.join(folder, 'agent.json'), MOST_BYTES.agent) as object, AGENT_NEEDS, []);
  } catch {
    return undefined;
  }
}
