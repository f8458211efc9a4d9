import type { QualityReport, Report } from '../report-schema.ts';

/** A recording of this much of a job is taken for one of all of it. */
export const MOST_OF_JOB = 0.9;

/** Whether much of a job that lasted was not recorded. */
export const isShort = ({ job_share: share = 1 }: QualityReport, wall: number, interval: number): boolean =>
  wall > interval * 10 && share < MOST_OF_JOB;

/** Whether what the judge says is not of the whole job, or of the whole part of it that was asked for. */
export const isPartlyRecorded = ({ quality, summary, job }: Pick<Report, 'quality' | 'summary' | 'job'>): boolean =>
  quality.grade !== 'A' || isShort(quality, summary.wall_seconds, job.interval_seconds);
