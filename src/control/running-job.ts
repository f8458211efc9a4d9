import { VERSION } from '../base/version.ts';
import { FORMAT, type Job } from '../recording/folder/job.ts';

/** What is said about it, without what recording it adds. */
type Facts = Omit<Job, 'format' | 'tacho' | 'interval_seconds' | 'start' | 'state'>;

/** The record of a job that begins to be recorded now. */
export const runningJob = (facts: Facts, intervalSeconds: number): Job => ({
  format: FORMAT,
  tacho: VERSION,
  ...facts,
  interval_seconds: intervalSeconds,
  start: Date.now() * 1000,
  state: 'running',
});
