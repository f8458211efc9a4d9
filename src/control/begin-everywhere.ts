import * as fs from 'node:fs';
import * as path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { formatDuration } from '../base/duration.ts';
import { signalProcess, stillRuns } from '../jobs/on-node/process-id.ts';
import { schedulerNamed, schedulerRunner } from '../jobs/schedulers/job-facts.ts';
import { isThisNode } from '../jobs/schedulers/local.ts';
import { nodeFolder } from '../recording/folder/node-folder.ts';
import {
  type AgentsOptions,
  complain,
  firstSamples,
  type Launched,
  launchLog,
  nodesHeard,
  startAgents,
  startHere,
  stopAgents,
  whyMissing,
} from './launch.ts';

export interface Patience {
  /** How long the first samples may take, after each launch. */
  limitSeconds: number;
  /** Seconds of the time-out that are over already. */
  waitedSeconds?: number;
  /** Number of nodes that may fail to record. */
  allowMissing: number;
}

export interface Begun {
  /** Those that were given, unless some had to be replaced. */
  launched: Launched[];
  /** Nodes that do not record. */
  missing: string[];
  /** The node of this process, where its agent had to be started without the scheduler, and why. */
  direct?: { node: string; logLines: string[] };
}

/** Agents that were asked to end in order to be started again have so long to do so. */
const STOP_SECONDS = 5;
/** How often a launcher that was asked to end is checked. */
const LOOKS = 100;

/**
 * Waits for the first sample of every node. Where the scheduler does not start the agent of this very node (srun may not
 * be used, or is not there), that is started without it.
 */
export async function beginEverywhere(
  options: AgentsOptions,
  launched: Launched[],
  patience: Patience,
): Promise<Begun> {
  const begun = await beginByScheduler(options, launched, patience);
  const { recording, job, env } = options;
  const node = begun.missing.find((each) => isThisNode(each, env));
  if (node === undefined || job.scheduler === 'none' || job.scheduler === 'file') return begun;
  const waiting = begun.launched.filter((each) => each.nodes.includes(node) && stillRuns(each));
  const lacking = new Set(begun.missing);
  if (waiting.some((each) => each.nodes.some((other) => !lacking.has(other)))) return begun;
  const [why] = whyMissing(recording, [node], begun.launched, patience.limitSeconds);
  // two agents must not write to one folder
  if (!(await ended(waiting))) return begun;
  const direct = startHere(options, node);
  const silent = await firstSamples(recording, [node], [direct], patience.limitSeconds);
  const missing = begun.missing.filter((each) => each !== node || silent.includes(each));
  const all = [...begun.launched.filter((each) => !waiting.includes(each)), direct];
  return { launched: all, missing, ...(silent.length > 0 ? {} : { direct: why! }) };
}

/** Ends launchers that wait in vain; false: one does not end. */
async function ended(launched: readonly Launched[]): Promise<boolean> {
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    for (const each of launched) signalProcess(each, signal, 'group');
    for (let looks = 0; looks < LOOKS && launched.some(stillRuns); looks++) await sleep(20);
  }
  return !launched.some(stillRuns);
}

/**
 * Waits for the first sample of every node. A launcher that nodes share may take all of them down for one that it cannot
 * reach: srun does, whatever its options. Then the others are started again without that one, if it may be missing.
 */
async function beginByScheduler(
  options: AgentsOptions,
  launched: Launched[],
  { limitSeconds, waitedSeconds = 0, allowMissing }: Patience,
): Promise<Begun> {
  const { recording, nodes } = options;
  const lost = new Set<string>();
  let running = launched;
  for (let limit = limitSeconds - waitedSeconds; ; limit = limitSeconds) {
    const wanted = nodes.filter((node) => !lost.has(node));
    const silent = new Set(await firstSamples(recording, wanted, running, limit));
    const { true: alive = [], false: ended = [] } = Object.groupBy(running, (each) => `${stillRuns(each)}` as const);
    const launcherLog = heard(recording);
    const stuck = alive.filter((each) => waitsInVain(launcherLog, each, silent));
    for (const each of ended) for (const node of givenUp(options, launcherLog, each)) lost.add(node);
    for (const each of stuck) {
      for (const node of unheard(launcherLog, each)) {
        lost.add(node);
        complain(recording, node, `${each.command} gave no answer within ${formatDuration(limitSeconds)}`);
      }
    }
    const broken = [...ended, ...stuck];
    const others = (): string[] => broken.flatMap((each) => each.nodes).filter((node) => !lost.has(node));
    const missing = (): string[] => {
      const tried = new Set(others());
      return nodes.filter((node) => lost.has(node) || (silent.has(node) && !tried.has(node)));
    };
    const over = (): boolean => others().length === 0 || missing().length > allowMissing;
    if (over()) return { launched: running, missing: missing() };
    if (stuck.length > 0) {
      const stopping = {
        ...options,
        nodes: stuck.flatMap((each) => each.nodes).filter((node) => !lost.has(node)),
      };
      // two agents must not write to one folder
      for (const node of await stopAgents(stopping, stuck, schedulerRunner(), STOP_SECONDS)) lost.add(node);
      if (over()) return { launched: running, missing: missing() };
    }
    const fresh = startAgents({ ...options, nodes: others(), again: true }, limitSeconds);
    running = [...running.filter((each) => !broken.includes(each)), ...fresh];
  }
}

/** What nodes have said so far, or was said of them. */
interface Heard extends ReturnType<typeof launchLog> {
  /** Whether anything of what was launched has run on a node. */
  from(node: string): boolean;
}

function heard(recording: string): Heard {
  const folders = nodesHeard(recording);
  const log = launchLog(recording);
  return { ...log, from: (node) => (folders.has(node) && hasLog(recording, node)) || log.complaints.has(node) };
}

/** The nodes without which a launcher that has ended is worth another try; all of them: it is not. */
function givenUp({ job }: AgentsOptions, launcherLog: Heard, ended: Launched): string[] {
  const named = new Set(schedulerNamed(job.scheduler).unreached?.(launcherLog.all.join('\n')));
  const unreached = ended.nodes.filter((node) => named.has(node));
  const without = unreached.length > 0 ? unreached : unheard(launcherLog, ended);
  if (without.length === 0) return ended.nodes;
  return [...without, ...ended.nodes.filter((node) => launcherLog.complaints.has(node))];
}

/** It has reached some of its nodes and not others: nobody knows whether it will end all for these. */
function waitsInVain(launcherLog: Heard, launcher: Launched, silent: ReadonlySet<string>): boolean {
  const left = unheard(launcherLog, launcher);
  return left.length < launcher.nodes.length && left.some((node) => silent.has(node));
}

/** Nodes where nothing of what was launched has run yet. */
const unheard = (launcherLog: Heard, { nodes }: Launched): string[] => nodes.filter((node) => !launcherLog.from(node));

/** The folder is opened, because a network file system then looks anew. */
const hasLog = (recording: string, node: string): boolean =>
  fs.readdirSync(path.join(recording, nodeFolder(node))).includes('agent.log');
