import type { Report } from './report-schema.ts';

/** The part of the job that a report is about; undefined: all of it. */
export function confinedTo({ confined, job }: Report): { from: number; to: number } | undefined {
  if (confined === undefined) return undefined;
  return { from: confined.from ?? job.start, to: confined.to ?? job.end ?? Date.now() * 1000 };
}
