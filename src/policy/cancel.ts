import { spawnSync } from 'node:child_process';
import type { JobSummary } from '../history/tables/summary.ts';

const PATIENCE_MS = 60_000;

/** Runs the command that cancels a job; says why it could not. */
export function cancelJob(command: readonly string[], { job, user, cluster }: JobSummary): string | undefined {
  const facts: Record<string, string> = { job, user, cluster };
  // an id that looks like an option would be one
  if (!/^\w[\w.,:[\]+-]*$/.test(job)) return `"${job}" is no id that could be passed on`;
  const [program = '', ...parameters] = command.map((word) =>
    word.replaceAll(/\{(\w+)\}/g, (all, name) => facts[name] ?? all),
  );
  const done = spawnSync(program, parameters, {
    encoding: 'utf8',
    timeout: PATIENCE_MS,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  if (done.error !== undefined) return `${program}: ${done.error.message}`;
  if (done.status === 0) return undefined;
  const errorLine = done.stderr.trim().split('\n')[0];
  return errorLine || `${program} ended with ${done.signal ?? done.status}`;
}
