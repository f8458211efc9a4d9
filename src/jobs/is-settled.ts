import type { Job } from '../recording/job.ts';

/** Whether nobody needs to be asked how a job ended. `steps`: its steps are wanted, too. */
export function isSettled(job: Job, steps: boolean): boolean {
  if (job.end === undefined || job.state === 'running') return false;
  if (job.scheduler === 'none' || job.scheduler === 'file' || job.steps !== undefined) return true;
  // somebody else's recording may come from anywhere, where the id means another job
  return !(wasKilled(job) || (steps && job.uid === process.getuid!()));
}

/** The command was ended by a signal, or is a shell that says so of its own. */
export const wasKilled = ({ state, signal, exit_code }: Job): boolean =>
  state === 'failed' && (signal !== undefined || (exit_code ?? 0) > 128);
