import * as fs from 'node:fs';
import * as path from 'node:path';
import { collectGarbage } from '../base/collect-garbage.ts';
import { Fault } from '../base/fault.ts';
import { count, figure } from '../base/figure.ts';
import { guard } from '../base/guard.ts';
import { nodesText } from '../base/hostlist.ts';
import { stated } from '../base/stated.ts';
import { countMemoryKills } from '../jobs/on-node/memory-kills.ts';
import type { Environment } from '../jobs/schedulers/command.ts';
import { defaultFolder, type JobOptions, jobFacts, schedulerRunner } from '../jobs/schedulers/job-facts.ts';
import { isHere } from '../jobs/schedulers/local.ts';
import { newRecording, saveJob } from '../recording/folder/create.ts';
import type { Job } from '../recording/folder/job.ts';
import { nodeFolder } from '../recording/folder/node-folder.ts';
import { forgetActive, noteActive, refuseSecond, updateActive } from './active.ts';
import { beginEverywhere } from './begin-everywhere.ts';
import { callingScript } from './calling-script.ts';
import {
  type AgentsOptions,
  keptLogLines,
  type Launched,
  nodesHeard,
  startAgents,
  stopAgents,
  whyMissing,
} from './launch.ts';
import { planMarks } from './marks-file.ts';
import { planRecords } from './preload.ts';
import { runningJob } from './running-job.ts';

export interface StartOptions extends JobOptions {
  intervalSeconds: number;
  offsetSeconds?: number;
  folder?: string;
  /** Where the recording is made when no folder is named. */
  parent: string;
  /** Number of nodes that may fail to record; undefined: all but one. */
  allowMissing?: number;
  /** Refuse a folder that is taken, instead of choosing another beside it. */
  strict?: boolean;
  limitSeconds: number;
  only?: readonly string[];
  without?: readonly string[];
  also?: readonly string[];
  config?: string;
  /** Let processes record themselves (`tacho env`); default: yes. */
  processes?: boolean;
  /** The shell that called `tacho start`. Outside of a scheduler it is the job, with what it starts, and ends the recording. */
  watchPid: number;
  tacho?: readonly string[];
  /** Learns that the recording is in another folder than was asked for. */
  say?: (text: string) => void;
}

export interface Started {
  recording: string;
  job: Job;
  /** Nodes without a first sample, with the last lines that were heard of them. */
  missing: { node: string; logLines: string[] }[];
}

/** Makes a recording and starts an agent on every node; returns when every node has written its first sample. */
export async function startRecording(env: Environment, options: StartOptions): Promise<Started> {
  refuseSecond(env);
  // a script is an argument of its shell
  const script = options.redact === true ? undefined : callingScript(options.watchPid);
  const facts = await jobFacts(env, { ...options, ...stated({ script }) });
  const job: Job = {
    ...runningJob(facts, options.intervalSeconds),
    marks_file: planMarks(),
    ...(options.processes === false ? {} : { process_records: planRecords(env) }),
  };
  const recording = newRecording(job, { ...options, name: defaultFolder(facts), say: options.say ?? (() => {}) });
  const local =
    job.nodes.length === 1 && isHere(job.nodes[0]!) && (job.scheduler === 'none' || job.scheduler === 'file');
  const agents: AgentsOptions = {
    recording,
    job,
    nodes: job.nodes,
    env,
    ...stated({
      offsetSeconds: options.offsetSeconds,
      only: options.only,
      without: options.without,
      also: options.also,
      config: options.config,
      tacho: options.tacho,
    }),
    ...(local ? { watchPid: options.watchPid } : { endWith: options.watchPid }),
  };
  const note = { recording, begun: false, ...stated({ kills_before: countMemoryKills() }) };
  const mustRecord = isTooFew(job, job.nodes.length, options.allowMissing ?? Number.POSITIVE_INFINITY);
  if (guard.unsampled !== undefined && job.nodes.length === 1 && !mustRecord) {
    // a recording without samples: what is known of the job is its facts, and its end
    noteActive(env, { ...note, launched: [], begun: true });
    const missing = [{ node: job.nodes[0]!, logLines: [guard.unsampled] }];
    job.not_recorded = keptLogLines(missing);
    delete job.process_records;
    delete job.marks_file;
    saveJob(recording, job);
    return { recording, job, missing };
  }
  let first: Launched[] = [];
  const began = performance.now();
  try {
    noteActive(env, { ...note, launched: first });
    first = startAgents(agents, options.limitSeconds);
    updateActive(env, { ...note, launched: first });
    // from here on there are two of us in the job
    collectGarbage();
  } catch (error) {
    fs.rmSync(recording, { recursive: true, force: true });
    throw error;
  }
  const { launched, missing, direct } = await beginEverywhere(agents, first, {
    limitSeconds: options.limitSeconds,
    waitedSeconds: (performance.now() - began) / 1000,
    allowMissing: options.allowMissing ?? Number.POSITIVE_INFINITY,
  });
  updateActive(env, { ...note, launched, begun: true });
  if (direct !== undefined) options.tell?.(withoutScheduler(direct.node, job), direct.logLines.join(' / '));
  const started = { recording, job, missing: whyMissing(recording, missing, launched, options.limitSeconds) };
  if (isTooFew(job, missing.length, options.allowMissing)) {
    // a recording that the user did not accept must not go on behind his back
    await stopAgents(agents, launched, schedulerRunner(), 5);
    saveJob(recording, {
      ...job,
      state: 'failed',
      end: Date.now() * 1000,
      reason: 'recording could not be started on every node',
    });
    forgetActive(env, recording);
    throw notEverywhere(started, options.allowMissing);
  }
  if (missing.length > 0) {
    job.not_recorded = keptLogLines(started.missing);
    saveJob(recording, job);
  }
  return started;
}

/** What is said of a node whose agent the scheduler did not start. */
export const withoutScheduler = (node: string, job: Job): string =>
  `the agent of ${node} was started without ${job.scheduler}`;

/** More nodes than the user allows do not record, or none does. */
export const isTooFew = (job: Job, missing: number, allowed: number | undefined): boolean =>
  allowed === undefined ? missing === job.nodes.length : missing > allowed;

export function notEverywhere({ recording, job, missing }: Started, allowed: number | undefined): Fault {
  const all = missing.flatMap(({ node, logLines }) => logLines.map((line) => ({ node, line })));
  // one launcher for several nodes says the same of each
  const reasons = [...Map.groupBy(all, ({ line }) => line)].map(([line, sameLines]) =>
    sameLines.some(({ node }) => line.includes(node))
      ? line
      : `${nodesText(sameLines.map(({ node }) => node))}: ${line}`,
  );
  const log = (node: string): string => path.join(recording, nodeFolder(node), 'agent.log');
  const folders = nodesHeard(recording);
  const hasLog = missing.some(
    ({ node }) => folders.has(node) && (fs.statSync(log(node), { throwIfNoEntry: false })?.size ?? 0) > 0,
  );
  const allow = `--allow-missing ${missing.length} records the others`;
  const more = [
    ...(hasLog ? [`logs are in ${recording}/node=*/agent.log`] : []),
    ...(missing.length < job.nodes.length ? [allow] : []),
  ];
  const nodes = nodesText(missing.map(({ node }) => node));
  return new Fault(
    `${figure(missing.length)} of ${count(job.nodes.length, 'node')} did not begin to record: ${nodes}`,
    {
      hint: [...reasons.slice(0, 12), ...(more.length > 0 ? [more.join('; ')] : [])].join('\n'),
      // it was asked for
      final: allowed !== undefined,
    },
  );
}
