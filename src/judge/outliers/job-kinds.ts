import { figure } from '../../base/readable.ts';
import { median } from '../../query/material.ts';
import type { ProcessJob } from '../../query/processes/set.ts';
import type { MeasuredJob } from './measured-job.ts';
import { FEWEST_PEERS } from './peers.ts';

/** What a job is grouped by: a tag of it, or `name`, in which numbers are left open. Undefined: it has no such tag. */
export function groupOf(job: ProcessJob, by: string): string | undefined {
  const tag = job.tags[by];
  if (tag !== undefined || by !== 'name') return tag;
  return job.name.replaceAll(/\d+/g, '#');
}

/** A group says how alike its jobs are from so many on. */
const FEWEST = 3;
/** Jobs of a group must be so many times as alike as all of them, for the groups to be different kinds. */
const MUCH_MORE_ALIKE = 2;

/** Says when jobs of different kinds are judged together, and how to tell them apart. */
export function mixedKinds(jobs: readonly MeasuredJob[]): string[] {
  const all = jobs.map(({ job }) => job).filter((job) => durationLog(job) !== undefined);
  const together = spreadOf(all);
  if (together === undefined || together === 0) return [];
  const keys = new Set(['name', ...all.flatMap(({ tags }) => Object.keys(tags))]);
  const splits = [...keys].flatMap((by) => {
    const groups = [...Map.groupBy(all, (job) => groupOf(job, by))].filter(
      ([value, members]) => value !== undefined && members.length >= FEWEST,
    );
    if (!groups.some(([, members]) => members.length >= FEWEST_PEERS)) return [];
    const grouped = groups.reduce((sum, [, members]) => sum + members.length, 0);
    const kinds = Map.groupBy(all, (job) => groupOf(job, by));
    // a tag that few jobs have, or that nearly each has another value of, tells no kinds apart
    if (kinds.size < 2 || 2 * kinds.size > all.length || grouped < 0.5 * all.length) return [];
    const middles = [...kinds.values()].flatMap((members) => median(members.map(durationLog)) ?? []);
    const inside = groups.reduce((sum, [, members]) => sum + members.length * (spreadOf(members) ?? 0), 0) / grouped;
    const alike = distanceOf(middles, all) / Math.max(inside, 1e-3);
    return [{ by, groups: kinds.size, alike }];
  });
  const best = splits.sort((a, b) => b.alike - a.alike || a.groups - b.groups)[0];
  if (best === undefined || best.alike < MUCH_MORE_ALIKE) return [];
  return [
    `jobs of ${figure(best.groups)} kinds are judged together: those with the same ${best.by} take about the same time, others do not; ` +
      `--by ${best.by} judges each kind alone`,
  ];
}

function durationLog({ start, end }: ProcessJob): number | undefined {
  return end > start ? Math.log(end - start) : undefined;
}

/** The median distance from the median, of the logarithms: of jobs of any length alike. */
function spreadOf(jobs: readonly ProcessJob[]): number | undefined {
  const middle = median(jobs.map(durationLog));
  return middle === undefined ? undefined : median(jobs.map((job) => Math.abs(durationLog(job)! - middle)));
}

/** How far groups lie apart: the mean distance of their medians from that of all jobs. */
function distanceOf(middles: readonly number[], all: readonly ProcessJob[]): number {
  const middle = median(all.map(durationLog))!;
  return middles.reduce((sum, each) => sum + Math.abs(each - middle), 0) / middles.length;
}
