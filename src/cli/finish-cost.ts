import { updateJob } from '../recording/folder/update-job.ts';

/** CPU time of this process so far, in seconds. */
export function ownSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

/** Keeps in the recording what this process used beyond what is counted there, for reports that come later. */
export function keepFinish(recording: string, seconds: number): void {
  updateJob(recording, (job) => ({ ...job, finish_seconds: Number(seconds.toFixed(6)) }));
}
