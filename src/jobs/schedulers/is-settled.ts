import type { Job } from '../../recording/folder/job.ts';
import type { Recording } from '../../recording/folder/open.ts';

/** Whether nobody needs to be asked how a job ended. `steps`: its steps are wanted, too. */
export function isSettled(recording: Pick<Recording, 'job' | 'nodes'>, steps: boolean): boolean {
  const { job } = recording;
  if (job.end === undefined || job.state === 'running') return false;
  if (job.scheduler === 'none' || job.scheduler === 'file') return true;
  // somebody else's recording may come from anywhere, where the id means another job
  const ours = job.uid === process.getuid!();
  if (job.waits === true || job.state === 'unknown') return !ours;
  return job.steps !== undefined || !(wasKilled(job) || (ours && (steps || lostNode(recording))));
}

/** A node whose agent did not say its end: it may have failed, whatever the command made of that. */
export const lostNode = ({ job, nodes }: Pick<Recording, 'job' | 'nodes'>): boolean =>
  job.nodes.some((name) => nodes.find((node) => node.name === name)?.agent?.end === undefined);

/** The command was ended by a signal, or is a shell that says so of its own. */
export const wasKilled = ({ state, signal, exit_code }: Job): boolean =>
  state === 'failed' && (signal !== undefined || (exit_code ?? 0) > 128);
