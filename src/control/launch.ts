import { spawn, spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { formatDuration } from '../base/duration.ts';
import { Fault, reason } from '../base/fault.ts';
import { makeFolder } from '../base/folder.ts';
import { nodesText } from '../base/hostlist.ts';
import { ours } from '../base/ours.ts';
import { shellQuote } from '../base/quote.ts';
import { type ProcessId, processId, signalProcess, stillRuns } from '../jobs/on-node/process-id.ts';
import { defined, type Environment, type Run } from '../jobs/schedulers/command.ts';
import { schedulerNamed } from '../jobs/schedulers/job-facts.ts';
import { isThisNode } from '../jobs/schedulers/local.ts';
import type { Launcher, LaunchPlan } from '../jobs/schedulers/scheduler.ts';
import type { AgentRecord } from '../recording/folder/agent-record.ts';
import type { Job } from '../recording/folder/job.ts';
import { nodeFolder, nodeName } from '../recording/folder/node-folder.ts';
import { MOST_BYTES, readJson } from '../recording/folder/record-file.ts';

/** Agents write their first sample well within a second: looking often costs little and makes `start` quick. */
const LOOK_MS = 20;
/** Milliseconds until the next look: what is over soon is seen soon. `begin`: of the waiting, on the steady clock. */
const nextLook = (begin: number): number => Math.min(LOOK_MS, 2 + (performance.now() - begin) / 4);
/** An agent that was asked to end and does not is asked once more, on its node. */
const PATIENCE_SECONDS = 3;
const GRACE_SECONDS = 0.5;

export interface AgentsOptions {
  /** Absolute path. */
  recording: string;
  job: Job;
  /** The nodes that get an agent; all of them are nodes of the job. */
  nodes: readonly string[];
  env: Environment;
  /** Tables that alone are wanted, and tables that are not. */
  only?: readonly string[];
  without?: readonly string[];
  also?: readonly string[];
  offsetSeconds?: number;
  /** A configuration that was named. */
  config?: string;
  /** A local agent records this process and its descendants as the job, and ends when it has gone. */
  watchPid?: number;
  /** An agent that is started without the scheduler ends with this process, the job's script. */
  endWith?: number;
  /** How Tacho is started on a node (default: as this one was). */
  tacho?: readonly string[];
  /** Agents that were ended right after their start are replaced: what they wrote goes. */
  again?: boolean;
}

/** A launcher that runs: `srun`, `ssh`… or the agent itself. */
export interface Launched extends ProcessId {
  nodes: string[];
  /** Its name. */
  command?: string;
  /** Its end is noticed by what it started, a moment later. */
  lifeline?: boolean;
  /** The agent itself, on this node, where the scheduler's launcher could not start it. */
  direct?: boolean;
  /** There was no time left to start it. */
  late?: boolean;
}

/** Starts one agent on each node, as far as the time allows, and leaves them running when this process ends. */
export function startAgents(options: AgentsOptions, limitSeconds: number): Launched[] {
  const { recording, job, nodes } = options;
  if (options.again) for (const node of nodes) clearAgent(recording, node);
  const launchers = schedulerOf(options).launch(plan(options, agentCommand(options)), job.id);
  const limit = performance.now() + limitSeconds * 1000;
  // of many, each has its ssh: this very node comes first
  const isOwn = ({ nodes: [node] }: Launcher): boolean => launchers.length > 1 && isThisNode(node!, options.env);
  const sorted = [...launchers.filter(isOwn), ...launchers.filter((each) => !isOwn(each))];
  return sorted.map((launcher, i) =>
    i > 0 && performance.now() > limit
      ? { pid: 0, started: '', nodes: launcher.nodes, late: true }
      : launchDetached(launcher, logOf(recording, launcher)),
  );
}

/** Starts the agent of the node that this process is on, without the scheduler; it leaves that running, too. */
export function startHere(options: AgentsOptions, node: string): Launched {
  const { recording, env, endWith } = options;
  clearAgent(recording, node);
  const command = [...agentCommand(options), ...(endWith === undefined ? [] : ['--watch-pid', String(endWith)])];
  const [program, ...args] = plan({ ...options, again: true }, command).on(node);
  // it is not in a step of its own: one that it named would be signalled in its place
  const { SLURM_STEP_ID: _, SLURM_STEPID: __, ...rest } = defined(env);
  const launcher = { command: program!, args, nodes: [node], env: rest };
  return { ...launchDetached(launcher, logOf(recording, launcher)), direct: true };
}

function clearAgent(recording: string, node: string): void {
  for (const name of ['agent.json', 'agent.log'])
    fs.rmSync(path.join(recording, nodeFolder(node), name), { force: true });
}

/** Hosts that the user named are reached by ssh, also inside a job. */
const schedulerOf = (options: Pick<AgentsOptions, 'job'>) => schedulerNamed(options.job.scheduler);

function plan(options: AgentsOptions, command: readonly string[]): LaunchPlan {
  const { recording, job, nodes, env, again } = options;
  return {
    nodes,
    jobNodes: job.nodes,
    on: (node) => onNode(shellQuote(node), recording, command, again),
    everywhere: (name) => onNode(`"${name}"`, recording, command, again),
    env,
  };
}

/**
 * The agent on a node whose name a shell finds there. The current folder comes along, because of a configuration in it.
 * A node that does not see the recording says so: its agent would write to a folder that nobody ever finds.
 */
function onNode(name: string, recording: string, command: readonly string[], again = false): string[] {
  // by the node itself: another's file system may show it for a while what has gone
  const clear = again ? '\n  rm -f "$recording/node=$node"/*.csv' : '';
  const script = `cd "$0" || cd /
recording=$1 node=${name}
shift
if [ -e "$recording/job.json" ]; then
  mkdir -p -m 700 "$recording/node=$node"${clear}
  exec "$@" --node "$node" >>"$recording/node=$node/agent.log" 2>&1
fi
echo "tacho: $node: there is no $recording here; a recording must be in a folder that all nodes share" >&2
exit 1`;
  return ['sh', '-c', script, process.cwd(), recording, ...command];
}

function agentCommand(options: AgentsOptions): string[] {
  const { recording, job, env, offsetSeconds = 0, only, without, also, config, watchPid, tacho } = options;
  const command = [...(tacho ?? [ours('tacho')]), 'agent', '--recording', recording];
  command.push('--interval', String(job.interval_seconds));
  if (offsetSeconds > 0) command.push('--offset', String(offsetSeconds));
  if (job.scheduler !== 'none' && job.scheduler !== 'file') {
    command.push('--scheduler', job.scheduler, '--job-id', env.SLURM_JOB_ID ?? job.id);
  }
  if (watchPid !== undefined) command.push('--pid', String(watchPid), '--watch-pid', String(watchPid));
  if (job.redacted) command.push('--redact');
  if (only !== undefined && only.length > 0) command.push('--only', only.join(','));
  if (without !== undefined && without.length > 0) command.push('--without', without.join(','));
  if (also !== undefined && also.length > 0) command.push('--also', also.join(','));
  if (config !== undefined) command.push('--config', path.resolve(config));
  return command;
}

/** The log of a launcher for one node is that of its agent. */
const logOf = (recording: string, { nodes }: Launcher): string =>
  nodes.length === 1 ? path.join(recording, nodeFolder(nodes[0]!), 'agent.log') : path.join(recording, 'launch.log');

function launchDetached(launcher: Launcher, log: string): Launched {
  // of many nodes each makes its own folder
  makeFolder(path.dirname(log), 0o700);
  const output = fs.openSync(log, 'a', 0o600);
  const input = launcher.lifeline ? endlessInput(path.dirname(log)) : undefined;
  try {
    const child = spawn(launcher.command, launcher.args, {
      detached: true,
      stdio: [input ?? 'ignore', output, output],
      // its own processes are not the job's
      env: { ...launcher.env, TACHO_OWN: '1' },
    });
    child.on('error', (error) => fs.appendFileSync(log, `${launcher.command}: ${reason(error)}\n`));
    child.unref();
    if (child.pid === undefined) return { pid: 0, started: '', nodes: launcher.nodes };
    const launched = { ...processId(child.pid), nodes: launcher.nodes, command: path.basename(launcher.command) };
    return launcher.lifeline ? { ...launched, lifeline: true } : launched;
  } finally {
    fs.closeSync(output);
    if (input !== undefined) fs.closeSync(input);
  }
}

/** A pipe that its only reader also holds open for writing: it ends when that process does, not before. */
function endlessInput(folder: string): number {
  const name = path.join(folder, `.lifeline-${process.pid}`);
  const made = spawnSync('mkfifo', ['-m', '600', name]);
  if (made.status !== 0)
    throw new Fault(`cannot make a pipe in ${folder}: ${String(made.stderr ?? made.error).trim()}`);
  try {
    return fs.openSync(name, 'r+');
  } finally {
    fs.rmSync(name, { force: true });
  }
}

/** The agent's record as it is on disk now; undefined while there is none. */
export function agentRecord(recording: string, node: string): AgentRecord | undefined {
  try {
    return readJson(path.join(recording, nodeFolder(node), 'agent.json'), MOST_BYTES.agent) as AgentRecord;
  } catch {
    return undefined;
  }
}

/** The records of those nodes that have written one. Nodes without a folder, of many that never came, cost nothing. */
export function agentRecords(recording: string, nodes: readonly string[]): Map<string, AgentRecord> {
  const folders = nodesHeard(recording);
  return new Map(
    nodes.flatMap((node) => {
      const record = folders.has(node) ? agentRecord(recording, node) : undefined;
      return record === undefined ? [] : [[node, record]];
    }),
  );
}

/** Nodes that have a folder. */
export const nodesHeard = (recording: string): Set<string> =>
  new Set(fs.readdirSync(recording).map((name) => nodeName(name) ?? ''));

/** Waits until every node has written its first sample; returns the nodes that did not. */
export async function firstSamples(
  recording: string,
  nodes: readonly string[],
  launched: readonly Launched[],
  limitSeconds: number,
): Promise<string[]> {
  const begin = performance.now();
  const limit = begin + limitSeconds * 1000;
  let missing = [...nodes];
  for (let last = false; ; ) {
    const records = agentRecords(recording, missing);
    missing = missing.filter((node) => records.get(node)?.first_sample === undefined);
    if (missing.length === 0 || last || performance.now() > limit) return missing;
    const awaited = new Set(launched.filter(stillRuns).flatMap((each) => each.nodes));
    const { complaints } = launchLog(recording);
    // nobody is left who could still bring it: look once more, in case it has just ended
    last = missing.every((node) => !awaited.has(node) || complaints.has(node));
    await sleep(last ? 200 : nextLook(begin));
  }
}

/** The last lines that each node's agent, or what started it, has written. */
export function lastLogLines(recording: string, nodes: readonly string[], lines = 3): string[][] {
  const folders = nodesHeard(recording);
  const { all, about, complaints } = launchLog(recording);
  return nodes.map((node) => {
    const own = folders.has(node) ? linesOf(path.join(recording, nodeFolder(node), 'agent.log')) : [];
    if (own.length > 0) return own.slice(-lines);
    // what the node says itself, else what is said of it, else what is said
    return (complaints.get(node) ?? about.get(node) ?? all).slice(-lines);
  });
}

/** Why nodes have not begun to record: their last words, or that what was to start the agent gives no answer. */
export function whyMissing(
  recording: string,
  nodes: readonly string[],
  launched: readonly Launched[],
  limitSeconds: number,
): { node: string; logLines: string[] }[] {
  const waits = new Map(
    launched.filter(stillRuns).flatMap(({ nodes: awaited, command }) => awaited.map((node) => [node, command])),
  );
  const late = new Set(launched.filter((each) => each.late).flatMap((each) => each.nodes));
  return lastLogLines(recording, nodes).map((logLines, i) => {
    const node = nodes[i]!;
    if (late.has(node))
      return {
        node,
        logLines: [`not started: others took the ${formatDuration(limitSeconds)} (--timeout waits longer)`],
      };
    const command = waits.get(node);
    if (logLines.length > 0 || command === undefined) return { node, logLines };
    const silence = `${command} gave no answer within ${formatDuration(limitSeconds)}`;
    return { node, logLines: [`${silence}: try it by hand, or wait longer (--timeout)`] };
  });
}

/** Number of different reasons that are printed. */
const MOST_REASONS = 8;

/** Nodes of which the same is said, together, in short; of many reasons only the first. */
export function commonLogLines(missing: readonly { node: string; logLines: readonly string[] }[]) {
  const own = missing.map(({ node, logLines }) => ({ node, logLines: logLines.map((line) => unsigned(line, node)) }));
  const groups = [...Map.groupBy(own, ({ logLines }) => logLines.join('\n')).values()].map((same) => ({
    nodes: same.map(({ node }) => node),
    logLines: same[0]!.logLines,
  }));
  const rest = groups.slice(MOST_REASONS).flatMap(({ nodes }) => nodes);
  const others = rest.length === 0 ? [] : [{ nodes: rest, logLines: ['the logs in the recording say why'] }];
  return [...groups.slice(0, MOST_REASONS), ...others].map(({ nodes, logLines }) => ({
    nodes: nodesText(nodes),
    many: nodes.length > 1,
    logLines,
  }));
}

/** The same as a text to keep, without who says it: that is Tacho, of that node. */
export const keptLogLines = (
  missing: readonly { node: string; logLines: readonly string[] }[],
): Record<string, string> =>
  Object.fromEntries(
    missing.flatMap(({ node, logLines }) => {
      const text = logLines.map((line) => unsigned(line, node)).join(' / ');
      return text === '' ? [] : [[node, text.slice(0, 1000)]];
    }),
  );

const unsigned = (line: string, node: string): string =>
  [`tacho: ${node}: `, 'tacho: '].reduce((text, by) => (text.startsWith(by) ? text.slice(by.length) : text), line);

/** What a launcher that several nodes share has said, what of it is about a node, and what a node itself has said. */
export function launchLog(recording: string) {
  const all = linesOf(path.join(recording, 'launch.log'));
  const by = (names: (line: string) => string[]): Map<string, string[]> => {
    const lines = new Map<string, string[]>();
    for (const line of all) {
      for (const name of new Set(names(line))) {
        const same = lines.get(name);
        if (same === undefined) lines.set(name, [line]);
        else same.push(line);
      }
    }
    return lines;
  };
  return {
    all,
    about: by((line) => line.split(/[\s:,]+/)),
    complaints: by((line) => Array.from(line.matchAll(/tacho: (\S+): /g), ([, node]) => node!)),
  };
}

/** Says it for a node that cannot. */
export const complain = (recording: string, node: string, what: string): void =>
  fs.appendFileSync(path.join(recording, 'launch.log'), `tacho: ${node}: ${what}\n`);

function linesOf(log: string): string[] {
  try {
    // ssh ends its own lines as a terminal would
    return fs.readFileSync(log, 'utf8').split(/\r*\n/).filter(Boolean);
  } catch {
    return [];
  }
}

/** Ends the agents; returns the nodes whose agent has not said its end within the limit. */
export async function stopAgents(
  options: Pick<AgentsOptions, 'recording' | 'job' | 'nodes' | 'env'>,
  launched: readonly Launched[],
  run: Run,
  limitSeconds = 15,
): Promise<string[]> {
  const { recording, job } = options;
  const scheduler = schedulerOf(options);
  const records = (): Map<string, AgentRecord> => agentRecords(recording, options.nodes);
  // one that never wrote its record is not there to be waited for
  const runningNodes = (): string[] => [...records()].flatMap(([node, { end }]) => (end === undefined ? [node] : []));
  const begun = performance.now();
  const step = [...records().values()].find((record) => record.step !== undefined)?.step;
  const over = (): boolean => runningNodes().length === 0 || gone(launched);
  const direct = launched.filter((each) => each.direct);
  const far = (): string[] => runningNodes().filter((node) => !direct.some((each) => each.nodes.includes(node)));
  for (const each of direct) signalProcess(each, 'SIGTERM');
  const asked = far().length > 0 ? await scheduler.stop(run, job.id, step) : 'agents';
  if (asked === 'signal the launcher') for (const each of launched) signalProcess(each, 'SIGTERM');
  if (asked === 'ask on the nodes' || !(await until(over, PATIENCE_SECONDS))) {
    await askOnNodes(options, far(), run);
    await until(over, limitSeconds - (performance.now() - begun) / 1000);
  }
  // what was written last may take a moment to be seen from another node
  await until(() => runningNodes().length === 0, GRACE_SECONDS);
  // a launcher may wait for a node that has vanished, or that never came
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    if (await until(() => !launched.some(stillRuns), GRACE_SECONDS)) break;
    for (const each of launched) signalProcess(each, signal, 'group');
  }
  const last = records();
  return options.nodes.filter((node) => last.get(node)?.end === undefined);
}

/** Nothing that was started can still run. The far end of a connection may outlive it for a moment. */
const gone = (launched: readonly Launched[]): boolean =>
  launched.length > 0 && launched.every((each) => !each.lifeline && !stillRuns(each));

async function until(done: () => boolean, seconds: number): Promise<boolean> {
  const begin = performance.now();
  const limit = begin + seconds * 1000;
  while (!done()) {
    if (performance.now() > limit) return false;
    await sleep(nextLook(begin));
  }
  return true;
}

/** Signals each agent by its pid, from a process that is started on its node. */
async function askOnNodes(
  options: Pick<AgentsOptions, 'recording' | 'job' | 'env'>,
  nodes: readonly string[],
  run: Run,
): Promise<void> {
  const { recording, job, env } = options;
  const asked = nodes.flatMap((node) => {
    const pid = agentRecord(recording, node)?.pid;
    // to kill, 0 and -1 are everybody
    if (!Number.isSafeInteger(pid) || pid! <= 1) return [];
    const kill = ['kill', '-TERM', String(pid)];
    if (isThisNode(node, env)) return [run(kill[0]!, kill.slice(1))];
    const [launcher] = schedulerOf(options).launch(
      { nodes: [node], jobNodes: job.nodes, on: () => kill, everywhere: () => kill, env },
      job.id,
    );
    return launcher === undefined ? [] : [run(launcher.command, launcher.args, launcher.env)];
  });
  await Promise.all(asked);
}
