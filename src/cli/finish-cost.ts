import { guard } from '../base/guard.ts';
import { END_SECONDS } from '../control/own-use.ts';
import { updateJob } from '../recording/folder/update-job.ts';

/** CPU time of this process so far, in seconds, with what started it and what its end will use. */
export function ownSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6 + guard.usedSeconds + END_SECONDS;
}

/** Keeps in the recording what this process used beyond what is counted there, for reports that come later. */
export function keepFinish(recording: string, seconds: number): void {
  updateJob(recording, (job) => ({ ...job, finish_seconds: Number(seconds.toFixed(6)) }));
}
