import * as fs from 'node:fs';
import { isatty } from 'node:tty';
import { reason } from '../../base/fault.ts';
import { guard, guardMessage } from '../../base/guard.ts';
import { nodesText } from '../../base/hostlist.ts';
import { stated } from '../../base/stated.ts';
import { warn } from '../../base/warn.ts';
import { beginEverywhere } from '../../control/begin-everywhere.ts';
import {
  agentRecords,
  commonLogLines,
  firstSamples,
  keptLogLines,
  startAgents,
  stopAgents,
  whyMissing,
} from '../../control/launch.ts';
import { MARKS_VARIABLE, planMarks } from '../../control/marks-file.ts';
import { takeOwnUse } from '../../control/own-use.ts';
import { injected, planRecords, refusal, tryLibraryHere } from '../../control/preload.ts';
import { runningJob } from '../../control/running-job.ts';
import { isTooFew, notEverywhere, withoutScheduler } from '../../control/start.ts';
import { countMemoryKills } from '../../jobs/on-node/memory-kills.ts';
import { findScope } from '../../jobs/on-node/scope.ts';
import { defaultFolder, jobFacts, schedulerRunner } from '../../jobs/schedulers/job-facts.ts';
import { isThisNode } from '../../jobs/schedulers/local.ts';
import { taskOf } from '../../jobs/schedulers/slurm-task.ts';
import { discardRecording, discardUnbegun, newRecording, saveJob } from '../../recording/folder/create.ts';
import type { Job } from '../../recording/folder/job.ts';
import { lostSamplesText } from '../../recording/folder/lost-samples.ts';
import { openRecording } from '../../recording/folder/open.ts';
import type { WriterOptions } from '../../recording/live/append.ts';
import type { CustomSource } from '../../sources/custom/custom.ts';
import type { Records } from '../../sources/scope.ts';
import { giveBackStart } from '../loop/give-back.ts';
import { startNodeAgent } from '../loop/node-agent.ts';
import { spareCompilers } from '../loop/spare-compilers.ts';
import { adoptRecords } from './adopt-records.ts';
import { type CommandEnding, type RunningCommand, runCommand } from './command.ts';
import type { StartCommand } from './command-first.ts';
import { commandTexts, recordEnd, recordStart } from './command-records.ts';

export interface RecordOptions {
  command: readonly string[];
  intervalSeconds: number;
  offsetSeconds?: number;
  name?: string;
  tags: Record<string, string>;
  /** The recording's folder; without it one is named after the job, in `parent`. */
  folder?: string;
  parent: string;
  /** Record these machines instead of the job's nodes. */
  hosts?: readonly string[];
  /** Number of nodes that may fail to record; undefined: all of them, each with a warning. */
  allowMissing?: number;
  /** How long the command waits for the first samples of other nodes. */
  limitSeconds?: number;
  /** Facts of the job from this file instead of a scheduler. */
  jobFile?: string;
  redact: boolean;
  keepEnvironment: readonly string[];
  without: readonly string[];
  also?: readonly string[];
  only: readonly string[];
  custom: readonly CustomSource[];
  /** A configuration that was named, for agents on other nodes. */
  config?: string;
  writer: WriterOptions;
  /** Have the job's processes record themselves. */
  processes: boolean;
  /** Refuse a folder that is taken, instead of choosing another beside it. */
  strict?: boolean;
  /** Records something else of the command, as long as it runs. */
  beside?: (pid: number, recording: string) => { stop(): Promise<void> };
}

/**
 * Looks taken between ticks right after the command has started, so that even a short one shows its processes. One that is
 * over before the first is known by what it recorded itself, and by what the kernel says of its end.
 */
const EARLY_LOOKS_MS = [2, 30, 120, 400];
/** The command does not wait longer than this for the agents of a job's nodes. */
const FIRST_SAMPLE_SECONDS = 15;

/**
 * Records one command from before its first instruction until after its last, on every node of the job it runs in. Throws
 * only what keeps it from starting the command.
 */
export async function recordCommand(
  options: RecordOptions,
  start: StartCommand = runCommand,
): Promise<{ folder: string; job: Job; ending: CommandEnding }> {
  if (guard.ended !== undefined) return recordAfter(options, start);
  const { job, folder } = await newJob(options);
  const here = job.nodes.length === 1 && isThisNode(job.nodes[0]!, process.env);
  const recorder = await (here ? recordHere : recordAll)(folder, job, options).catch((error: unknown) => {
    // on other nodes agents may have begun
    if (here) discardRecording(folder);
    throw error;
  });
  let command: RunningCommand;
  try {
    const env: NodeJS.ProcessEnv = { ...process.env, TACHO_RECORDING: folder, [MARKS_VARIABLE]: recorder.marks };
    // a pause of the job around this one is not for this one
    if (recorder.records !== undefined) delete env.TACHO_RECORD_OFF;
    command = await start(options.command, env, recorder.records && injected(env, recorder.records));
    job.start = command.start;
  } catch (error) {
    await recorder.stop('the command could not be started');
    discardRecording(folder);
    throw error;
  }
  try {
    recorder.follow(command.pid);
    if (recorder.records !== undefined) {
      recordStart(recorder.records, { pid: command.pid, start: job.start, command: options.command, env: process.env });
    }
  } catch (error) {
    say('what the command itself does is not recorded', reason(error));
  }
  const beside = options.beside?.(command.pid, folder);
  const ending = await command.ended;
  finish(job, ending);
  await beside?.stop().catch((error: unknown) => say('what runs beside the command', reason(error)));
  if (recorder.records !== undefined) recordEnd(recorder.records, { pid: command.pid, end: job.end!, ...ending });
  if (job.usage !== undefined && job.nodes.length === 1 && !here) job.usage.elsewhere = true;
  // whatever the disk says now, the command's own end is what counts
  try {
    await recorder.stop('the command has ended');
    delete job.kills_before;
    saveJob(folder, { ...job, ...stated({ own_use: takeOwnUse(folder, job.nodes) }) });
  } catch (error) {
    say(`the end of the recording ${folder}`, reason(error));
  }
  return { folder, job, ending };
}

/** The recording of a command that is to be started, without samples so far. */
async function newJob(options: RecordOptions): Promise<{ job: Job; folder: string }> {
  const task = options.jobFile === undefined && options.hosts === undefined ? ownTask() : undefined;
  // the command waits for this: a scheduler that is slow to answer gets little time
  const facts = await jobFacts(process.env, {
    ...options,
    command: commandTexts(options.command),
    tell: say,
    run: schedulerRunner(2),
    ...(task === undefined ? {} : { given: task.facts, tags: { ...task.tags, ...options.tags } }),
  });
  const job: Job = {
    ...runningJob(facts, options.intervalSeconds),
    marks_file: planMarks(),
    ...(options.processes ? { process_records: planRecords(process.env) } : {}),
    ...stated({ kills_before: countMemoryKills() }),
  };
  const folder = newRecording(job, {
    ...options,
    name: task?.folder ?? defaultFolder(facts),
    ...(options.folder === undefined ? {} : { folder: `${options.folder}${task?.suffix ?? ''}` }),
    say: warn,
  });
  // it is completed, whatever becomes of us
  if (guard.channel !== undefined) fs.writeSync(guard.channel, guardMessage('recording', [folder]));
  return { job, folder };
}

/**
 * The command has run already, below a guard that outlived its recorder or did not start one. What is known of its end
 * completes the recording that was begun, or makes one without samples.
 */
async function recordAfter(options: RecordOptions, start: StartCommand) {
  const { pid, start: began, ended } = await start(options.command, process.env);
  const { recording, why = 'Node did not run beside it' } = guard;
  const begun = recording === undefined ? undefined : openRecording(recording);
  if (begun === undefined && options.folder) discardUnbegun(options.folder);
  const { job, folder } = begun
    ? { job: begun.job, folder: begun.path }
    : await newJob({ ...options, processes: false });
  const ending = await ended;
  job.start = began;
  finish(job, ending);
  job.not_recorded = { ...job.not_recorded, ...Object.fromEntries(job.nodes.map((node) => [node, why])) };
  if (job.process_records !== undefined) recordEnd(job.process_records, { pid, end: job.end!, ...ending });
  Object.assign(job, stated({ memory_kills: killsSince(job.kills_before, why) }));
  delete job.kills_before;
  saveJob(folder, { ...job, ...stated({ own_use: takeOwnUse(folder, job.nodes) }) });
  if (begun !== undefined) await adoptRecords(openRecording(folder), false);
  return { folder, job, ending };
}

/** Processes that the kernel killed, because memory ran out, when no recorder was left to see it. */
function killsSince(before: Job['kills_before'], why: string): Job['memory_kills'] {
  const now = countMemoryKills();
  if (before === undefined || now?.cgroup !== before.cgroup) return undefined;
  const kills = now.kills - before.kills;
  return kills > 0 ? { kills, own: why.endsWith('SIGKILL') ? 1 : 0 } : undefined;
}

/** In a task of a step: each would record the whole job, with agents on all of its nodes. It records itself. */
function ownTask() {
  const task = taskOf(process.env, isatty(0));
  if (task === undefined) return undefined;
  const { rank, tasks, step, job, facts } = task;
  const alone = tasks === 1 ? `this step (${facts.id}) records` : `each of these ${tasks} tasks records`;
  if (rank === 0) warn(`${alone} itself alone; tacho run -- srun ... records the whole job, once`);
  const folder = `${defaultFolder({ ...facts, id: job })}-${tasks === 1 ? `step${step}` : `task${rank}`}`;
  const tags: Record<string, string> = tasks === 1 ? { step } : { step, task: String(rank) };
  return { facts, tags, folder, suffix: tasks === 1 ? '' : `-task${rank}` };
}

const say = (what: string, why: string): void => warn(`${what}: ${why}`);

interface Recorder {
  /** Where the command's processes record themselves. */
  readonly records: Records | undefined;
  /** Where its programs append marks. */
  readonly marks: string | undefined;
  follow(pid: number): void;
  stop(why: string): Promise<void>;
}

/** The agent is this process itself. */
async function recordHere(folder: string, job: Job, options: RecordOptions): Promise<Recorder> {
  const { process_records: records, marks_file: marks } = job;
  const node = await startNodeAgent({
    ...options,
    ...stated({ records, marks }),
    recording: folder,
    node: job.nodes[0]!,
  });
  giveBackStart();
  const restoreCompilers = spareCompilers();
  let looks: NodeJS.Timeout[] = [];
  return {
    records: node.records,
    marks: node.marks,
    follow(pid) {
      const inJob =
        job.scheduler === 'none' || job.scheduler === 'file' ? {} : { jobId: job.id, scheduler: job.scheduler };
      node.follow(
        findScope(node.host, {
          ...inJob,
          rootPid: pid,
          uid: job.uid,
          exclude: [process.pid],
          redact: options.redact,
          mark: { variable: 'TACHO_RECORDING', value: folder },
        }),
        'later',
      );
      looks = EARLY_LOOKS_MS.map((ms) => setTimeout(() => node.agent.glance(), ms));
    },
    async stop(why) {
      // what follows seals and judges
      restoreCompilers();
      for (const look of looks) clearTimeout(look);
      await node.stop(why);
      for (const line of lostSamplesText(node.agent.record.lost_samples ?? [])) warn(line);
    },
  };
}

/** One agent on every node of the allocation, as `tacho start` and `tacho stop` have them. */
async function recordAll(folder: string, job: Job, options: RecordOptions): Promise<Recorder> {
  const { without, only, also, config, offsetSeconds } = options;
  const asked = { without, only, endWith: process.pid, ...stated({ also, config, offsetSeconds }) };
  const agents = { recording: folder, job, nodes: job.nodes, env: process.env, ...asked };
  const limit = options.limitSeconds ?? FIRST_SAMPLE_SECONDS;
  const began = performance.now();
  const first = startAgents(agents, limit);
  const ownNode = job.nodes.filter((node) => isThisNode(node, process.env)).slice(0, 1);
  await firstSamples(folder, ownNode, first, limit - (performance.now() - began) / 1000);
  // from here on, what this process uses is in the samples of its node
  let before = process.cpuUsage();
  const {
    launched,
    missing: silent,
    direct,
  } = await beginEverywhere(agents, first, {
    limitSeconds: limit,
    waitedSeconds: (performance.now() - began) / 1000,
    allowMissing: options.allowMissing ?? Number.POSITIVE_INFINITY,
  });
  if (launched !== first) before = process.cpuUsage();
  if (direct !== undefined) say(withoutScheduler(direct.node, job), direct.logLines.join(' / '));
  const missing = whyMissing(folder, silent, launched, limit);
  if (isTooFew(job, missing.length, options.allowMissing)) {
    await stopAgents(agents, launched, schedulerRunner(), 5);
    const reason = 'recording could not be started on every node';
    saveJob(folder, { ...job, state: 'failed', end: Date.now() * 1000, reason });
    throw notEverywhere({ recording: folder, job, missing }, options.allowMissing);
  }
  if (missing.length > 0) {
    job.not_recorded = keptLogLines(missing);
    saveJob(folder, job);
  }
  for (const { nodes, many, logLines } of commonLogLines(missing)) {
    say(
      many ? `nodes ${nodes} are not recorded` : `node ${nodes} is not recorded`,
      logLines.join(' / ') || 'its agent has not written a sample',
    );
  }
  return {
    records: agreedRecords(folder, job),
    marks: job.marks_file,
    follow() {},
    async stop() {
      const silent = await stopAgents(agents, launched, schedulerRunner());
      // of one that never began it was said already
      const lost = [...agentRecords(folder, silent).keys()];
      if (lost.length === 1) say(`node ${lost[0]}`, 'its agent did not say its end');
      else if (lost.length > 1) say(`nodes ${nodesText(lost)}`, 'their agents did not say their end');
      const { user, system } = process.cpuUsage(before);
      const max_rss_bytes = process.resourceUsage().maxRSS * 1024;
      for (const node of ownNode) job.run_use = { node, cpu_seconds: (user + system) / 1e6, max_rss_bytes };
    },
  };
}

/** The command's environment goes to all nodes: one where the library cannot be used keeps it from all. */
function agreedRecords(folder: string, job: Job): Records | undefined {
  const { process_records: records } = job;
  if (records === undefined) return undefined;
  const trouble = refusal(folder, job.nodes) ?? tryLibraryHere(process.env);
  if (trouble !== undefined) say('processes do not record themselves', trouble);
  return trouble === undefined ? records : undefined;
}

function finish(job: Job, ending: CommandEnding): void {
  job.end = Date.now() * 1000;
  if (ending.usage !== undefined) {
    job.usage = { ...ending.usage };
    job.end = job.start + Math.round(ending.usage.wall_seconds * 1e6);
  }
  if (ending.signal !== undefined) {
    job.state = 'failed';
    job.signal = ending.signal;
    job.reason = `ended by ${ending.signal}`;
  } else {
    job.exit_code = ending.exitCode ?? 0;
    job.state = job.exit_code === 0 ? 'completed' : 'failed';
  }
}
