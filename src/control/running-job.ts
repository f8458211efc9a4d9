import { VERSION } from '../base/version.ts';
import { isLocalId } from '../jobs/schedulers/job-facts.ts';
import { FORMAT, type Job } from '../recording/folder/job.ts';

/** What is said about it, without what recording it adds. */
type Facts = Omit<Job, 'format' | 'tacho' | 'interval_seconds' | 'start' | 'state'>;

/** Of two jobs that begin in the same second, wherever that is: four letters or digits. */
const apart = (): string =>
  Math.floor(Math.random() * 36 ** 4)
    .toString(36)
    .padStart(4, '0');

/** The record of a job that begins to be recorded now. */
export const runningJob = (facts: Facts, intervalSeconds: number): Job => ({
  format: FORMAT,
  tacho: VERSION,
  ...facts,
  id: isLocalId(facts.id) ? `${facts.id}-${apart()}` : facts.id,
  interval_seconds: intervalSeconds,
  start: Date.now() * 1000,
  state: 'running',
});
