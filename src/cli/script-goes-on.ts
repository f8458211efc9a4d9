import { spawn } from 'node:child_process';
import * as os from 'node:os';
import { theirEnvironment } from '../base/own-node.ts';
import { commandOfRun } from './command-of-run.ts';

/** Verbs that a job's script calls (`strict` in verbs.ts, which may be what cannot be loaded). */
const IN_SCRIPTS = ['start', 'stop', 'mark', 'fom'];

/**
 * What a job's script still gets where Tacho is broken (a package is missing, a file cannot be read): the command of
 * `tacho run`, and exit code 0 of what else it calls. False: it gets nothing, and the error counts.
 */
export async function scriptGoesOn(error: unknown, args: readonly string[]): Promise<boolean> {
  const command = commandOfRun(args);
  const flags = command === undefined ? args : args.slice(0, args.length - command.length);
  if (flags.includes('--strict')) return false;
  const why = String((error as Error | undefined)?.message ?? error).split('\n')[0];
  if (command !== undefined) {
    process.stderr.write(`tacho: the command runs, but is not recorded: ${why}\n`);
    if (!(await isRun(command, error))) runAlone(command);
    return true;
  }
  if (!IN_SCRIPTS.includes(args[0] ?? '') || flags.includes('--help')) return false;
  process.stderr.write(`tacho: ${args[0]}: internal error: ${why}\n`);
  process.exit(0);
}

/** False: what Tacho has for it cannot be loaded either. */
async function isRun(command: readonly string[], error: unknown): Promise<boolean> {
  let modules: [typeof import('../agent/run/command-first.ts'), typeof import('../agent/run/end-as.ts')];
  try {
    modules = await Promise.all([import('../agent/run/command-first.ts'), import('../agent/run/end-as.ts')]);
  } catch {
    return false;
  }
  const [{ commandFirst }, { endAs }] = modules;
  const { ending } = await commandFirst(
    command,
    () => Promise.reject(error),
    () => {},
  );
  endAs(ending);
  return true;
}

/** With nothing but Node. */
function runAlone(command: readonly string[]): void {
  const child = spawn(command[0]!, command.slice(1), { stdio: 'inherit', env: theirEnvironment() });
  for (const signal of ['SIGINT', 'SIGQUIT', 'SIGTERM', 'SIGHUP', 'SIGUSR1', 'SIGUSR2', 'SIGXCPU'] as const)
    process.on(signal, () => process.stdin.isTTY || child.kill(signal));
  child.once('error', (error: NodeJS.ErrnoException) => {
    process.stderr.write(`tacho: cannot run ${command[0]}: ${error.message}\n`);
    process.exit(error.code === 'ENOENT' ? 127 : 126);
  });
  child.once('exit', (code, signal) => process.exit(code ?? 128 + os.constants.signals[signal ?? 'SIGKILL']));
}
