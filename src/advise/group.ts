import type { JobSummary } from '../history/tables/summary.ts';
import { nameStem } from '../judge/scale/name-stem.ts';
import { isOver } from './evidence.ts';

/** Runs of the same thing: of one user, with one name, on the same number of nodes, CPUs and GPUs. */
export interface JobGroup {
  user: string;
  cluster: string;
  name: string;
  /** Ids of arrays whose tasks are among them. */
  arrays: string[];
  /** Over, oldest first. */
  jobs: JobSummary[];
  /** What the newest asked for. */
  newest: JobSummary;
}

const keyOf = (job: JobSummary): string =>
  JSON.stringify([
    job.cluster,
    job.user,
    nameStem(job.name ?? ''),
    job.program === undefined ? '' : nameStem(job.program),
    job.asked_nodes ?? job.nodes,
    job.asked_cpus ?? job.cpus,
    job.asked_gpus ?? job.gpus ?? 0,
  ]);

/** Jobs that are over, by what they are; those with most core-hours first. The tasks of an array are of one group. */
export function groupsOf(jobs: readonly JobSummary[]): JobGroup[] {
  const byKey = Map.groupBy(jobs.filter(isOver), keyOf);
  const groups = [...byKey.values()].map((all): JobGroup => {
    const sorted = all.toSorted((a, b) => a.time - b.time);
    const newest = sorted.at(-1)!;
    const arrays = [...new Set(sorted.flatMap(({ array }) => array ?? []))];
    return {
      user: newest.user,
      cluster: newest.cluster,
      name: newest.name ?? newest.job,
      arrays,
      jobs: sorted,
      newest,
    };
  });
  const hours = ({ jobs: all }: JobGroup): number => all.reduce((sum, job) => sum + (job.core_hours ?? 0), 0);
  return groups.sort((a, b) => hours(b) - hours(a) || b.jobs.length - a.jobs.length);
}
