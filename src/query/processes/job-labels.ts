import type { ProcessJob } from './set.ts';

/** What jobs are called among others, each in its place: the id, with the recording where two have the same. */
export function jobLabels(jobs: readonly Pick<ProcessJob, 'id' | 'origin'>[]): string[] {
  const counts = new Map<string, number>();
  for (const { id } of jobs) counts.set(id, (counts.get(id) ?? 0) + 1);
  return jobs.map(({ id, origin }) => (counts.get(id) === 1 ? id : `${id} (${origin})`));
}

/** A job by its id, with its recording where the folder's name does not say it: one types either. */
export function jobAndRecording(id: string, origin: string): string {
  const folder = origin.replace(/\/+$/, '').replace(/.*\//, '');
  const isSaid = folder.endsWith(id) || origin.includes('#');
  return isSaid ? id : `${id} (${origin})`;
}
