import * as path from 'node:path';
import { stated } from '../base/stated.ts';
import { countMemoryKills, isMemoryKill } from '../jobs/on-node/memory-kills.ts';
import { stillRuns } from '../jobs/on-node/process-id.ts';
import type { Environment, Run } from '../jobs/schedulers/command.ts';
import { schedulerNamed, schedulerRunner } from '../jobs/schedulers/job-facts.ts';
import type { Tell } from '../jobs/schedulers/scheduler.ts';
import { isGone } from '../recording/folder/alive.ts';
import { needOwn } from '../recording/folder/as-owner.ts';
import { saveJob } from '../recording/folder/create.ts';
import type { Job } from '../recording/folder/job.ts';
import { openRecording } from '../recording/folder/open.ts';
import { type Active, findActive, forgetActive, needActive } from './active.ts';
import { agentRecords, lastLogLines, stopAgents } from './launch.ts';
import { noteOwnUse, takeOwnUse } from './own-use.ts';

export interface Stopped {
  recording: string;
  job: Job;
  /** Nodes whose agent did not say its end: it was killed, or its node has gone. */
  silent: string[];
  /** Those of them that never began to record. */
  never: string[];
  /** No agent can be writing any more. */
  over: boolean;
  /** CPU seconds of this process that are counted among Tacho's commands in the job. */
  noted: number;
}

/** Ends the agents of a recording and completes job.json. */
export async function stopRecording(
  env: Environment,
  folder: string | undefined,
  reportTrouble: Tell,
  run: Run = schedulerRunner(),
  exitCode?: number,
): Promise<Stopped> {
  const active = folder === undefined ? needActive(env, 'there is nothing to stop') : named(env, folder);
  const { recording, launched } = active;
  needOwn(recording);
  const { job } = openRecording(recording);
  noteOwnUse(recording, env);
  const { user, system } = process.cpuUsage();
  const silent = await stopAgents({ recording, job, nodes: job.nodes, env }, launched, run);
  const own_use = takeOwnUse(recording, job.nodes);
  const memory_kills = memoryKills(active, silent);
  const not_recorded = { ...job.not_recorded, ...gaveWay(recording, silent) };
  const ended = {
    ...job,
    ...(await howItStands(job, run, reportTrouble, exitCode)),
    ...stated({ own_use, memory_kills }),
    ...(Object.keys(not_recorded).length > 0 ? { not_recorded } : {}),
  };
  saveJob(recording, ended);
  forgetActive(env, recording);
  const over = silent.length === 0 || (launched.length > 0 && !launched.some(stillRuns));
  const records = agentRecords(recording, silent);
  const never = silent.filter((node) => !records.has(node));
  return { recording, job: ended, silent, never, over, noted: (user + system) / 1e6 };
}

/** Nodes whose guard ended the agent, and why (native/launch-guard.c). */
function gaveWay(recording: string, silent: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    lastLogLines(recording, silent).flatMap((logLines, i) => {
      const why = /^tacho: recording has ended: (.*)/.exec(logLines.at(-1) ?? '')?.[1];
      return why === undefined ? [] : [[silent[i]!, why]];
    }),
  );
}

/** Of Tacho's own processes that are gone without a word, those that the kernel killed because memory ran out. */
function memoryKills({ recording, begun, kills_before }: Active, silent: readonly string[]): Job['memory_kills'] {
  const now = countMemoryKills();
  // one who stops it from elsewhere sees another cgroup
  const counted = now !== undefined && now.cgroup === kills_before?.cgroup ? now.kills - kills_before.kills : 0;
  const gone = [...agentRecords(recording, silent).values()].filter((agent) => isGone(agent));
  // the counter of a launcher's own cgroup has gone with it, its words have not
  const killLines = lastLogLines(recording, silent).filter((logLines) => logLines.some(isMemoryKill));
  const own = Math.max(killLines.length, Math.min(counted, gone.length + (begun === false ? 1 : 0)));
  return own === 0 ? undefined : { kills: Math.max(counted, own), own };
}

function named(env: Environment, folder: string): Active {
  const recording = path.resolve(folder);
  const active = findActive(env);
  return active?.recording === recording ? active : { recording, launched: [] };
}

/**
 * `tacho stop` is a part of the job, which therefore still runs: how it ended is asked for later (refresh.ts). Without a
 * scheduler nobody knows it but the script, which may say its exit code.
 */
async function howItStands(job: Job, run: Run, reportTrouble: Tell, exit_code?: number): Promise<Partial<Job>> {
  const end = job.end ?? Date.now() * 1000;
  if (job.scheduler === 'none' || job.scheduler === 'file') {
    if (job.end !== undefined) return { end };
    return { end, state: exit_code ? 'failed' : 'completed', ...stated({ exit_code }) };
  }
  const ending = await schedulerNamed(job.scheduler).state(run, job, reportTrouble);
  if (ending === undefined) return { end, state: 'running' };
  return { ...ending, end: ending.end ?? end };
}
