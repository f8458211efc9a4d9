import * as os from 'node:os';
import * as path from 'node:path';
import { describeJob } from '../jobs/job-facts.ts';
import { findScope } from '../jobs/scope.ts';
import { createRecording, freeName, saveJob } from '../recording/create.ts';
import type { Job } from '../recording/job.ts';
import { type CommandEnding, type RunningCommand, runCommand } from './command.ts';
import { startNodeAgent } from './node-agent.ts';

export interface RecordOptions {
  command: readonly string[];
  intervalSeconds: number;
  name?: string;
  tags: Record<string, string>;
  /** The recording's folder; without it one is named after the job, in `parent`. */
  folder?: string;
  parent: string;
  redact: boolean;
  without: readonly string[];
}

/** Looks taken between ticks right after the command has started, so that even a short one shows its processes. */
const EARLY_LOOKS_MS = [30, 120, 400];

/** Records one command on this node, from before its first instruction until after its last. */
export async function recordCommand(
  options: RecordOptions,
): Promise<{ folder: string; job: Job; ending: CommandEnding }> {
  const job = await describeJob(options);
  const folder = createRecording(options.folder ?? freeName(options.parent, `tacho-${job.id}`), job);
  const node = await startNodeAgent({
    recording: folder,
    node: os.hostname().split('.')[0]!,
    intervalSeconds: options.intervalSeconds,
    without: options.without,
  });
  let command: RunningCommand;
  const release = holdSignals((signal) => command?.kill(signal));
  try {
    command = await runCommand(options.command, { ...process.env, TACHO_RECORDING: folder });
  } catch (error) {
    release();
    await node.agent.stop('the command could not be started');
    throw error;
  }
  node.follow(
    findScope(node.host, {
      rootPid: command.pid,
      uid: process.getuid!(),
      exclude: [process.pid],
      redact: options.redact,
    }),
  );
  const looks = EARLY_LOOKS_MS.map((ms) => setTimeout(() => node.agent.glance(), ms));
  const ending = await command.ended;
  for (const look of looks) clearTimeout(look);
  await node.agent.stop('the command has ended');
  release();
  finish(job, ending);
  saveJob(folder, job);
  return { folder, job, ending };
}

function finish(job: Job, ending: CommandEnding): void {
  job.end = Date.now() * 1000;
  if (ending.usage !== undefined) {
    job.usage = ending.usage;
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

/**
 * While the command runs its signals are its own. What a terminal sends reaches the whole group, the command included;
 * what is sent to us alone is passed on.
 */
function holdSignals(pass: (signal: NodeJS.Signals) => void): () => void {
  const fromTerminal = process.stdin.isTTY === true;
  const handlers = new Map<NodeJS.Signals, () => void>();
  for (const signal of ['SIGINT', 'SIGQUIT'] as const) handlers.set(signal, () => fromTerminal || pass(signal));
  for (const signal of ['SIGTERM', 'SIGHUP', 'SIGUSR1', 'SIGUSR2', 'SIGXCPU'] as const)
    handlers.set(signal, () => pass(signal));
  for (const [signal, handler] of handlers) process.on(signal, handler);
  return () => {
    for (const [signal, handler] of handlers) process.off(signal, handler);
  };
}
