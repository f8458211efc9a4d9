import { spawn } from 'node:child_process';
import { endGroup } from '../../base/end-group.ts';
import { code } from '../../base/fault.ts';
import { isInPath } from '../../base/in-path.ts';
import { theirEnvironment } from '../../base/own-node.ts';

/** What a scheduler's command answered. */
export interface CommandResult {
  stdout: string;
  /** In words, when there is no good answer: "scontrol is not installed", "squeue gave no answer within 5 s". */
  trouble?: string;
}

/** Runs a command and waits for its answer, a limited time. Never throws. */
export type Run = (command: string, args: readonly string[], env?: Record<string, string>) => Promise<CommandResult>;

export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The real one: the command gets this process's environment (or `env`) plus `extra`, is marked as none of the job's
 * processes, and is killed at the time limit, with all that it started: at many sites it is a script.
 */
export function runner(extra: Record<string, string> = {}, limitSeconds = 5): Run {
  return (command, args, env = defined(process.env)) =>
    new Promise((resolve) => {
      const child = spawn(command, args, {
        stdio: ['ignore', 'pipe', 'pipe'],
        env: { ...theirEnvironment(env), ...extra, TACHO_OWN: '1' },
        detached: true,
      });
      let stdout = '';
      let stderr = '';
      const finish = (trouble?: string): void => {
        clearTimeout(timer);
        resolve(trouble === undefined ? { stdout } : { stdout, trouble });
      };
      const timer = setTimeout(() => {
        if (child.pid !== undefined) endGroup(child.pid);
        // who left the group may still hold the pipes
        child.stdout.destroy();
        child.stderr.destroy();
        child.unref();
        finish(`${command} gave no answer within ${limitSeconds} s`);
      }, limitSeconds * 1000);
      child.stdout.setEncoding('utf8').on('data', (text: string) => {
        stdout += text;
      });
      child.stderr.setEncoding('utf8').on('data', (text: string) => {
        stderr += text;
      });
      child.on('error', (error) => {
        const nowhere = code(error) === 'EACCES' && !isInPath(command, env.PATH);
        finish(code(error) === 'ENOENT' || nowhere ? `${command} is not installed` : `${command}: ${error.message}`);
      });
      child.on('close', (status, signal) => {
        if (status === 0) finish();
        else finish(`${command} failed (${signal ?? `exit ${status}`})${firstLine(stderr)}`);
      });
    });
}

function firstLine(text: string): string {
  const line = text.trim().split('\n')[0]!;
  return line === '' ? '' : `: ${line}`;
}

/** The environment as a child process takes it. */
export const defined = (env: Environment): Record<string, string> =>
  Object.fromEntries(Object.entries(env).filter((pair): pair is [string, string] => pair[1] !== undefined));
