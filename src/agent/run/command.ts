import { type ChildProcess, spawn } from 'node:child_process';
import * as fs from 'node:fs';
import type { Socket } from 'node:net';
import { constants } from 'node:os';
import { Fault, reason } from '../../base/fault.ts';
import { guard, guardMessage } from '../../base/guard.ts';
import { guardChannel } from '../../base/guard-channel.ts';
import { isInPath } from '../../base/in-path.ts';
import { ours } from '../../base/ours.ts';
import { theirEnvironment } from '../../base/own-node.ts';
import { warn } from '../../base/warn.ts';
import type { Usage } from '../../recording/folder/job.ts';

/** How a command ended. */
export interface CommandEnding {
  /** Undefined when a signal ended it. */
  exitCode?: number;
  signal?: NodeJS.Signals;
  /** Undefined when even the launcher was killed. */
  usage?: Usage;
}

export interface RunningCommand {
  /** Process id of the command itself. */
  readonly pid: number;
  /** When its wall time began, epoch microseconds. */
  readonly start: number;
  readonly ended: Promise<CommandEnding>;
  kill(signal: NodeJS.Signals): void;
}

/**
 * Runs a command with our own terminal, input and outputs, in our own process group: nothing is between it and its user.
 * `more` of the environment is for the command alone, not for what starts it.
 * Throws a Fault with exit code 127 (not found) or 126 (may not run), as shells do.
 */
export async function runCommand(
  command: readonly string[],
  env: NodeJS.ProcessEnv,
  more: Readonly<Record<string, string>> = {},
): Promise<RunningCommand> {
  if (guard.ended !== undefined) return endedBefore(guard.ended);
  const launcher = ours('native/build/launch');
  const { TACHO_DESCRIPTORS: named, ...theirs } = theirEnvironment(env);
  if (guard.channel !== undefined) return guarded(guard.channel, command, { ...theirs, ...more });
  const stdio = inherited(named);
  const closed = closedOf(named);
  if (fs.existsSync(launcher)) {
    try {
      return await launched(launcher, command, theirs, more, stdio, closed);
    } catch (error) {
      // a launcher that cannot be started (another architecture, a file system without programs) keeps no command from it
      if (error instanceof Fault) throw error;
      warn(`${launcher} cannot be started: ${reason(error)}`);
    }
  }
  return plain(command, { ...theirs, ...more }, stdio, closed);
}

/** Those of the first three that were closed when Tacho was started: Node has put /dev/null in their place. */
const closedOf = (named = ''): string[] => named.split(' ').flatMap((word) => /^-([012])$/.exec(word)?.[1] ?? []);

/** What the command gets of our descriptors: the three, and those that the launcher script found open (make's, locks, logs). */
function inherited(named = ''): (number | 'ignore')[] {
  const stdio: (number | 'ignore')[] = [0, 1, 2];
  for (const fd of named.split(' ').map(Number)) {
    if (!(fd > 2 && fd < 16)) continue;
    while (stdio.length < fd) stdio.push('ignore');
    stdio[fd] = fd;
  }
  return stdio;
}

/** The guard above us has run it before it started us. */
function endedBefore(report: string): RunningCommand {
  const [, pid, start, ending] = /^(\d+) (\d+) ended (.*)/.exec(report)!;
  return { pid: Number(pid), start: Number(start), ended: Promise.resolve(launchersWord(ending!)), kill: () => {} };
}

/** The guard above us starts it, and passes its signals on: it goes on if we do not. */
function guarded(fd: number, command: readonly string[], env: NodeJS.ProcessEnv): Promise<RunningCommand> {
  const channel = guardChannel(fd);
  const { running, over } = reports(channel, command[0]!, env.PATH, () => {});
  channel.once('close', () => over(new Fault('the guard of tacho run was killed', { final: true }), 'SIGKILL'));
  const variables = Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${value}`]));
  channel.write(guardMessage('start', [...command, ...variables], command.length));
  return running;
}

function launched(
  launcher: string,
  command: readonly string[],
  env: NodeJS.ProcessEnv,
  more: Readonly<Record<string, string>>,
  stdio: readonly (number | 'ignore')[],
  closed: readonly string[],
): Promise<RunningCommand> {
  // a name without a value is taken away: the launcher is Tacho's own, the command is not
  const settings = ['TACHO_OWN', ...Object.entries(more).map(([name, value]) => `${name}=${value}`)];
  const channel = stdio.length;
  const child = spawn(launcher, [[channel, ...closed].join(','), ...settings, '--', ...command], {
    stdio: [...stdio, 'pipe'],
    env: { ...env, TACHO_OWN: '1' },
  });
  const { running, over } = reports(child.stdio[channel] as Socket, command[0]!, env.PATH, kill);
  child.once('error', (error) => over(error, 'SIGKILL'));
  child.once('close', () => {
    const { signalCode: signal, exitCode } = child;
    // it was not what it should be; one that was killed may have started the command
    if (signal === null) over(new Error(`exit code ${exitCode}`), 'SIGKILL');
    else over(new Fault(`${launcher} was ended by ${signal}`, { final: true }), signal);
  });
  return running;
}

interface Reports {
  running: Promise<RunningCommand>;
  /** Nothing more will be heard: this is why, if nothing was, and the signal that has to stand for an unknown end. */
  over(error: Error, signal: NodeJS.Signals): void;
}

/** Follows what native/launch.c reports of the command. */
function reports(
  channel: Socket,
  name: string,
  folders: string | undefined,
  pass: (pid: number, signal: NodeJS.Signals) => void,
): Reports {
  let text = '';
  const running = Promise.withResolvers<RunningCommand>();
  const ended = Promise.withResolvers<CommandEnding>();
  channel.on('data', (bytes: Buffer) => {
    text += bytes.toString('latin1');
    const failed = /^failed (\d+)$/m.exec(text);
    if (failed) running.reject(cannotRun(name, Number(failed[1]), folders));
    const started = /^started (\d+) (\d+)\n/m.exec(text);
    if (started) {
      const [pid, start] = [Number(started[1]), Number(started[2])];
      running.resolve({ pid, start, ended: ended.promise, kill: (signal) => pass(pid, signal) });
    }
    const endingText = /^ended (.*)\n/m.exec(text)?.[1];
    if (endingText !== undefined) ended.resolve(launchersWord(endingText));
  });
  return {
    running: running.promise,
    over(error, signal) {
      running.reject(error);
      ended.resolve({ signal });
    },
  };
}

/** The launcher's last line: see native/launch.c. */
function launchersWord(ending: string): CommandEnding {
  const [status, wall, user, system, rss, minor, major, read, written, voluntary, involuntary] = ending
    .split(' ')
    .map(Number);
  const signal = status! & 0x7f;
  return {
    ...(signal === 0 ? { exitCode: (status! >> 8) & 0xff } : { signal: signalName(signal) }),
    usage: {
      wall_seconds: wall! / 1e6,
      user_seconds: user! / 1e6,
      system_seconds: system! / 1e6,
      max_rss_bytes: rss! * 1024,
      minor_faults: minor!,
      major_faults: major!,
      read_blocks: read!,
      written_blocks: written!,
      voluntary_switches: voluntary!,
      involuntary_switches: involuntary!,
    },
  };
}

/** Without the launcher (there was no compiler when Tacho was set up): the same, but a small peak memory stays unknown. */
async function plain(
  command: readonly string[],
  env: NodeJS.ProcessEnv,
  stdio: readonly (number | 'ignore')[],
  closed: readonly string[],
): Promise<RunningCommand> {
  sayWhatIsLost(command, env);
  for (const fd of closed)
    warn(`descriptor ${fd}, which is closed, is /dev/null for the command without native/build/launch`);
  const before = await childrenUsage();
  const own = process.resourceUsage().maxRSS * 1024;
  const begin = performance.now();
  const start = Date.now() * 1000;
  const child = spawn(command[0]!, command.slice(1), { stdio: [...stdio], env });
  const ended = new Promise<CommandEnding>((settle) => {
    child.once('exit', async (exitCode, signal) => {
      const wall_seconds = (performance.now() - begin) / 1000;
      const used = before && (await childrenUsage());
      if (before === undefined || used === undefined) {
        settle(signal === null ? { exitCode: exitCode ?? 0 } : { signal });
        return;
      }
      const { max_rss_bytes, ...after } = used;
      const usage: Usage = { ...after, wall_seconds };
      for (const key of Object.keys(after) as (keyof typeof after)[])
        if (key !== 'wall_seconds') usage[key] -= before[key];
      // the kernel starts counting at the memory of the process it was forked from: below that nothing is known
      if (max_rss_bytes! > own * 1.02) usage.max_rss_bytes = max_rss_bytes!;
      settle({ ...(signal === null ? { exitCode: exitCode ?? 0 } : { signal }), usage });
    });
  });
  await spawned(child, command[0]!, env.PATH);
  return { pid: child.pid!, start, ended, kill: (signal) => kill(child.pid!, signal) };
}

/** What is no UTF-8 has been replaced when it was read; only the launcher can ask the kernel for the bytes. */
function sayWhatIsLost(command: readonly string[], env: NodeJS.ProcessEnv): void {
  const lost = [
    ...command.filter((word) => word.includes('\ufffd')).map((word) => `the argument ${word}`),
    ...Object.keys(env).filter((name) => env[name]?.includes('\ufffd')),
  ];
  if (lost.length === 0) return;
  process.stderr.write(
    `tacho: ${lost.join(', ')}: not UTF-8, which cannot be passed on without native/build/launch; install a C compiler\n`,
  );
}

function spawned(child: ChildProcess, name: string, folders: string | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    child.once('spawn', resolve);
    child.once('error', (error: NodeJS.ErrnoException) => reject(cannotRun(name, Math.abs(error.errno ?? 0), folders)));
  });
}

/** getrusage(RUSAGE_CHILDREN): two timevals, then fourteen longs. Undefined: it cannot be asked. */
async function childrenUsage(): Promise<Usage | undefined> {
  const raw = new BigInt64Array(18);
  try {
    const { default: koffi } = await import('koffi');
    koffi.load('libc.so.6').func('int getrusage(int who, void *usage)')(-1, raw);
  } catch {
    return undefined;
  }
  const at = (i: number): number => Number(raw[i]);
  return {
    wall_seconds: 0,
    user_seconds: at(0) + at(1) / 1e6,
    system_seconds: at(2) + at(3) / 1e6,
    max_rss_bytes: at(4) * 1024,
    minor_faults: at(8),
    major_faults: at(9),
    read_blocks: at(11),
    written_blocks: at(12),
    voluntary_switches: at(16),
    involuntary_switches: at(17),
  };
}

function cannotRun(name: string, errno: number, folders: string | undefined): Fault {
  // as shells say it, where the folders of PATH are not all ours to look into
  const nowhere = errno === constants.errno.EACCES && !name.includes('/') && !isInPath(name, folders);
  if (errno === constants.errno.ENOENT || nowhere) {
    return name.includes('/')
      ? new Fault(`cannot run ${name}: no such file, or its interpreter is missing`, { exit: 127, final: true })
      : new Fault(`cannot run ${name}: command not found`, {
          exit: 127,
          final: true,
          hint: 'it is looked for in the folders of PATH',
        });
  }
  if (errno === constants.errno.EACCES && isFolder(name))
    return new Fault(`cannot run ${name}: it is a folder`, { exit: 126, final: true });
  if (errno === constants.errno.EACCES) {
    return new Fault(`cannot run ${name}: permission denied`, {
      exit: 126,
      final: true,
      hint: 'chmod +x makes a file executable',
    });
  }
  if (errno === constants.errno.ENOEXEC) {
    return new Fault(`cannot run ${name}: not a program`, {
      exit: 126,
      final: true,
      hint: 'a script needs a first line such as #!/bin/sh',
    });
  }
  const word = Object.entries(constants.errno).find(([, value]) => value === errno)?.[0];
  return new Fault(`cannot run ${name}: ${word ?? `error ${errno}`}`, { exit: 126, final: true });
}

const isFolder = (name: string): boolean =>
  name.includes('/') && fs.statSync(name, { throwIfNoEntry: false })?.isDirectory() === true;

function signalName(number: number): NodeJS.Signals {
  return (Object.entries(constants.signals).find(([, value]) => value === number)?.[0] ?? 'SIGKILL') as NodeJS.Signals;
}

function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // it has gone in the meantime
  }
}
