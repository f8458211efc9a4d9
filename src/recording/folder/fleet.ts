import type { Job } from './job.ts';

/** Whether a recording is what a node records of itself, a day at a time, whoever runs on it. */
export const isFleet = (job: Job): boolean =>
  job.uid === -1 && job.user === '' && /^fleet-\d{4}-\d\d-\d\d$/.test(job.id);
