import * as fs from 'node:fs';
import * as path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { reason } from '../../base/fault.ts';
import { stated } from '../../base/stated.ts';
import { libraryOf } from '../../control/preload.ts';
import { READABLE, whyPrivate } from '../../control/private-path.ts';
import { type CgroupJob, isOlderThan } from '../../jobs/on-node/cgroup-jobs.ts';
import { jobName, type NodeJob, type NodeJobEnd } from '../../jobs/on-node/job-file.ts';
import { allowance, jobScope } from '../../jobs/on-node/scope.ts';
import { saveJob } from '../../recording/folder/create.ts';
import type { Job } from '../../recording/folder/job.ts';
import { nodeFolder } from '../../recording/folder/node-folder.ts';
import { readJob } from '../../recording/folder/open.ts';
import type { NodeFacts } from '../../sources/host/facts.ts';
import { Host } from '../../sources/host.ts';
import { sources } from '../../sources/index.ts';
import { RECORD_KINDS } from '../../sources/records/records.ts';
import { type Records, type Scope, WHOLE_NODE } from '../../sources/scope.ts';
import type { SourceKind } from '../../sources/source.ts';
import { cgroupTable, markerTable, processEndTable, processTable } from '../../sources/tables.ts';
import { TOO_MANY_MARKS } from '../../sources/too-much.ts';
import { Agent } from '../loop/agent.ts';
import { prepared } from '../loop/prepared.ts';
import { type Common, inCommon, readAgent } from './common.ts';
import { earlierTotals } from './earlier-totals.ts';
import { goesOn, newJob, outcome, schedulerQuestions } from './job-description.ts';
import { type JobMarks, jobMarks } from './job-marks.ts';
import { type Remembered, rememberProcesses } from './left-running.ts';
import { ProcessTotals } from './process-totals.ts';

const MARKS_MS = 1000;
/** What a job's user has left may take long to remove: nobody waits longer for it. */
const REMOVE_MS = 2000;
/** Slurm makes a job's cgroup in one hierarchy after the other: those that count CPU time and memory may come later. */
const CGROUP_AGAIN_MS = [500, 2000];
/** An agent that was there has its first sample of a job long before this, in microseconds. */
const LATE = 10e6;

const PROCESSES = sources.find((kind) => kind.table.name === processTable.name)!;

/** Records a job on this node; the first sample has been taken when it is made. A recording that is there is gone on with. */
export class JobRecording {
  readonly folder: string;
  readonly agent: Agent;
  job: Job;
  private readonly nodeJob: NodeJob;
  private readonly common: Common;
  private readonly host: Host;
  private readonly facts: NodeFacts;
  /** The sources of the job's own tables. */
  private readonly own: readonly SourceKind[];
  private readonly totals: ProcessTotals;
  private readonly remembered: Remembered;
  private readonly records: Records | undefined;
  private readonly questions: ReturnType<typeof schedulerQuestions>;
  private readonly isNew: boolean;
  /** The scheduler was asked for the job's facts in vain. */
  private isUnanswered = false;
  private byHook: boolean;
  private over = false;
  private marks: JobMarks | undefined;
  private readonly marksTimer: NodeJS.Timeout;
  private learned: Promise<void> | undefined;
  /** A little of what the job's own programs say of it; true: there is more. */
  private readonly takeMarks = (): boolean => this.takeSomeMarks();

  constructor(folder: string, nodeJob: NodeJob, intervalSeconds: number, common: Common, cgroup?: CgroupJob) {
    const before = readJob(folder);
    this.folder = folder;
    this.nodeJob = nodeJob;
    this.common = common;
    this.host = new Host(common.root);
    this.isNew = before === undefined;
    this.job = before === undefined ? newJob(nodeJob, intervalSeconds, common, this.host) : goesOn(before);
    this.byHook = nodeJob.begin !== undefined;
    const nodePath = path.join(folder, nodeFolder(common.node));
    const old = common.aside.complete(nodePath, readAgent(nodePath));
    this.facts = { ...common.facts, gpus: [...common.facts.gpus] };
    this.agent = new Agent({
      ...inCommon(common, old),
      folder: nodePath,
      prepare: prepared(folder, nodePath, () => this.job, before === undefined || before.end !== undefined),
      host: this.host,
      facts: this.facts,
      intervalSeconds: this.job.interval_seconds,
    });
    this.remembered = rememberProcesses(PROCESSES, this.host);
    this.totals = new ProcessTotals(this.host, old === undefined ? undefined : (earlierTotals(nodePath) ?? 'unknown'));
    this.own = sources
      .filter((kind) => kind.table.scope === 'job' && !RECORD_KINDS.includes(kind) && common.isWanted(kind.table.name))
      .map((kind) => (kind === PROCESSES ? this.totals.watch(this.remembered.kind) : kind));
    this.questions = schedulerQuestions(this.job, common);
    this.agent.open(common.shared.kinds, WHOLE_NODE);
    common.shared.attach(this.agent, nodeJob.environment);
    this.records = this.openRecords();
    this.openOwn(cgroup);
    this.agent.start('saved later');
    this.marksTimer = setInterval(() => common.turns.add(this.takeMarks), MARKS_MS);
    this.marksTimer.unref();
    common.later(() => this.settle());
  }

  /** Whether the job had a process here when it was last looked at. */
  hasProcesses(): boolean {
    return this.remembered.isAny();
  }

  /** When it was last seen to have one, in epoch microseconds. */
  get lastProcess(): number | undefined {
    return this.remembered.lastSeen;
  }

  /** From now on its processes are those of this cgroup. */
  inCgroup(cgroupJob: CgroupJob): void {
    this.agent.reopen(this.own, this.limited(cgroupJob));
    this.agent.glance();
    this.lookAgain(cgroupJob);
  }

  /** What a prolog says of a job that was found by its cgroup. */
  hearProlog({ begin, cluster, account, partition, directory, tags }: NodeJob): void {
    this.byHook = true;
    this.job = {
      ...stated({ cluster, account, partition, directory }),
      ...this.job,
      start: Math.min(this.job.start, begin ?? this.job.start),
      tags: { ...tags, ...this.job.tags },
    };
    this.save();
  }

  /** This job runs on the node too. */
  sharesWith(name: string): void {
    const others = this.agent.record.shared_with ?? [];
    if (others.includes(name)) return;
    this.agent.record.shared_with = [...others, name];
    // of many jobs that begin together each would be written as often as there are others
    this.agent.saveSoon();
  }

  /** Takes the last sample, names what is left of the job, completes job.json. */
  async end(end: NodeJobEnd, why: string): Promise<void> {
    const { common, agent } = this;
    this.settle();
    this.over = true;
    const ended = end.end ?? common.clock.now();
    common.records?.forget(this.recordsName);
    clearInterval(this.marksTimer);
    common.view.forget();
    await agent.stop(why, common.ending);
    this.noteSilence();
    await common.turns.finish(this.takeMarks, common.ending);
    try {
      this.job = { ...this.job, ...stated({ own_use: this.marks?.ownUse() }) };
      await Promise.race([this.marks?.remove(), sleep(REMOVE_MS, undefined, { ref: false })]);
    } catch (error) {
      this.noteTrouble(markerTable.name, 'what the job left', error);
    }
    agent.record.left_running = this.remembered.alive(common.redact);
    agent.save();
    await this.learned;
    // a scheduler that was too busy for an answer when many jobs began
    if (this.isUnanswered) {
      this.agent.unnote('job');
      await this.learn().catch((error) => this.noteTrouble('job', 'the scheduler', error));
      agent.save();
    }
    this.job = { ...this.job, ...outcome(end), end: Math.max(ended, this.job.start) };
    const ending = await this.questions?.ending(this.job);
    // Slurm has whole seconds
    const exact = end.end !== undefined && end.guessed !== true;
    if (ending !== undefined)
      this.job = { ...this.job, ...ending, end: (exact ? undefined : ending.end) ?? this.job.end! };
    this.save();
  }

  /** The agent ends, the job goes on. */
  pause(why: string): Promise<void> {
    this.settle();
    this.over = true;
    if (this.records !== undefined) this.records.keep = true;
    clearInterval(this.marksTimer);
    this.takeMarks();
    this.marks?.close();
    this.common.view.forget();
    return this.agent.stop(why);
  }

  /** As its tasks know it: of several runs of an id one runs. */
  private get recordsName(): string {
    return `job-${jobName(this.nodeJob)}`;
  }

  /** What need not be done before other jobs that begin at this moment have their first samples, too. */
  private settle(): void {
    if (this.learned !== undefined) return;
    this.agent.save();
    this.marks = this.openMarks();
    this.learned = this.learn().catch((error) => this.noteTrouble('job', 'the scheduler', error));
  }

  private async learn(): Promise<void> {
    // an agent that was killed before it had the answer leaves the job with its number for a name
    if (this.questions === undefined || (!this.isNew && this.job.name !== this.job.id)) return;
    this.isUnanswered = false;
    const reportTrouble = (what: string, why: string): void => {
      this.isUnanswered = true;
      this.agent.note({ table: 'job', what, why });
    };
    this.job = await this.questions.facts(() => this.job, this.nodeJob, reportTrouble);
    this.save();
  }

  private save(): void {
    try {
      // what is stored elsewhere may have gone from here
      if (fs.existsSync(this.folder)) saveJob(this.folder, this.job);
    } catch (error) {
      this.noteTrouble('job', 'job.json', error);
    }
  }

  private noteTrouble(table: string, what: string, error: unknown): void {
    this.agent.note({ table, what, why: reason(error) });
  }

  private openOwn(cgroup: CgroupJob | undefined): void {
    this.agent.open(this.own, cgroup === undefined ? this.scopeOf(undefined) : this.limited(cgroup));
    if (cgroup !== undefined) this.lookAgain(cgroup);
    else if (this.job.uid < 0) {
      const why = 'the job file does not say whose job it is (SLURM_JOB_UID)';
      this.agent.note({ table: processTable.name, what: 'processes', why });
    }
  }

  private lookAgain(cgroupJob: CgroupJob): void {
    const counting = this.own.filter(({ table }) => table.name === cgroupTable.name);
    const look = (): void => {
      // a job has a cgroup only while a step of it runs here
      if (this.over || !this.host.exists(cgroupJob.folder)) return;
      this.agent.unnote(cgroupTable.name);
      this.agent.reopen(counting, this.limited(cgroupJob));
    };
    for (const wait of CGROUP_AGAIN_MS) setTimeout(look, wait).unref();
  }

  private scopeOf(cgroup: string | undefined): Scope {
    const { nodeJob, common, totals } = this;
    return {
      totals,
      memory: { pss_bytes: Number.NaN, shared_bytes: Number.NaN },
      view: common.view,
      ...jobScope({
        id: nodeJob.environment.SLURM_JOB_ID ?? nodeJob.id,
        scheduler: nodeJob.scheduler,
        uid: this.job.uid,
        exclude: [process.pid],
        redact: common.redact,
        ...stated({ cgroup }),
      }),
    };
  }

  /** The job by its cgroup, with what that lets it have. */
  private limited(cgroupJob: CgroupJob): Scope {
    const by = this.scopeOf(cgroupJob.path);
    const older = isOlderThan(this.host, cgroupJob.path, this.job.start + this.common.clock.ahead());
    const scope: Scope = older ? { ...by, cgroup: { ...by.cgroup!, older } } : by;
    const { cpus: allowed_cpus, memory_bytes: memory_limit_bytes } = allowance(this.host, scope);
    Object.assign(this.facts, stated({ allowed_cpus, memory_limit_bytes }));
    return scope;
  }

  /** What processes say themselves is read from before the first of them starts. */
  private openRecords(): Records | undefined {
    const { common } = this;
    const kinds = RECORD_KINDS.filter((kind) => common.isWanted(kind.table.name));
    if (common.records === undefined || kinds.length === 0 || this.job.uid < 0) return undefined;
    try {
      const records = common.records.recordsFor(this.recordsName, this.job, this.folder);
      const watched = kinds.map((kind) => this.totals.watch(kind));
      this.agent.open(watched, { ...WHOLE_NODE, redact: common.redact, records });
      return records;
    } catch (error) {
      this.noteTrouble(processEndTable.name, 'processes that record themselves', error);
      return undefined;
    }
  }

  /** Slurm runs our prolog, but the job's processes have not heard of us. */
  private noteSilence(): void {
    const { written = [], first_sample } = this.agent.record;
    const isSilent = this.records !== undefined && !RECORD_KINDS.some(({ table }) => written.includes(table.name));
    if (!isSilent || !this.byHook || this.job.scheduler !== 'slurm' || !written.includes(processTable.name)) return;
    const note = (why: string, hint?: string): void =>
      this.agent.note({
        table: processEndTable.name,
        what: 'processes that ended between two samples',
        why: `no process of the job recorded itself: ${why}`,
        ...stated({ hint }),
      });
    const since = this.common.clock.now() - process.uptime() * 1e6;
    const cannot = whyPrivate(libraryOf({}));
    if (first_sample! - this.job.start > LATE || (this.isNew && this.job.start < since))
      note('it started before the agent of the node');
    else if (cannot !== undefined) note(`users cannot read Tacho's library, for ${cannot}`, READABLE);
    else
      note(
        'Slurm did not run the task prolog of Tacho for it',
        'TaskProlog in slurm.conf: tacho slurm hooks --task-prolog (docs/cluster-agent.md)',
      );
  }

  /** What the job's own programs say of it (`tacho mark`, `tacho annotate`). */
  private openMarks(): JobMarks | undefined {
    const { marks, node, clock } = this.common;
    const { records, job } = this;
    if (marks === undefined || job.uid < 0) return undefined;
    try {
      return jobMarks({
        name: path.join(marks.folder, this.recordsName),
        users: marks.users,
        job: records === undefined ? job : { ...job, process_records: { file: records.file, events: [] } },
        recording: this.folder,
        node,
        now: () => clock.now(),
        // phases begin and end with a sample
        phase: () => this.agent.glance(),
        ahead: () => clock.ahead(),
      });
    } catch (error) {
      this.noteTrouble(markerTable.name, 'marks and annotations by the job', error);
      return undefined;
    }
  }

  private takeSomeMarks(): boolean {
    const { marks, agent } = this;
    if (marks === undefined) return false;
    try {
      const more = marks.takeMarks();
      if (marks.lost > 0) agent.lose({ table: markerTable.name, rows: marks.lost, why: TOO_MANY_MARKS });
      const markedWords = marks.takeWords();
      if (markedWords === undefined) return more;
      this.job = { ...this.job, ...markedWords, tags: { ...this.job.tags, ...markedWords.tags } };
      this.save();
      return more;
    } catch (error) {
      this.noteTrouble(markerTable.name, 'marks and annotations by the job', error);
      return false;
    }
  }
}
