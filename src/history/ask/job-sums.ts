import type { JobSummary, JobText } from '../tables/summary.ts';

/** Jobs that have something in common, added up; what none of them has is not there. */
export interface JobSums {
  group: string;
  jobs: number;
  failed: number;
  /** Jobs that only accounting knows. */
  accounted?: number;
  wall_seconds?: number;
  node_hours?: number;
  core_hours?: number;
  /** Weighed by core-hours. */
  cpu_use?: number;
  gpu_hours?: number;
  /** Weighed by GPU-hours. */
  gpu_use?: number;
  /** Of the job that had most. */
  memory_peaks_bytes?: number;
  energy_joules?: number;
  /** Mean. */
  wait_seconds?: number;
  core_hours_wasted?: number;
  gpu_hours_wasted?: number;
}

export const SUM_COLUMNS = [
  'group',
  'jobs',
  'failed',
  'accounted',
  'wall_seconds',
  'node_hours',
  'core_hours',
  'cpu_use',
  'gpu_hours',
  'gpu_use',
  'memory_peaks_bytes',
  'energy_joules',
  'wait_seconds',
  'core_hours_wasted',
  'gpu_hours_wasted',
] as const satisfies (keyof JobSums)[];

const ADDED = [
  'wall_seconds',
  'node_hours',
  'core_hours',
  'gpu_hours',
  'energy_joules',
  'core_hours_wasted',
  'gpu_hours_wasted',
] as const;

const WELL = ['completed', 'running', 'pending', 'cancelled', 'unknown'];

/** The columns of jobs that sums are made of. */
export const SUMMED = [
  ...ADDED,
  'state',
  'origin',
  'cpu_use',
  'gpu_use',
  'wait_seconds',
  'memory_peaks_bytes',
] as const satisfies (keyof JobSummary)[];

type Summed = Pick<JobSummary, (typeof SUMMED)[number] | JobText>;

/** The groups with most core-hours first. */
export function sumsOf(jobs: readonly Summed[], by: JobText): JobSums[] {
  const groups = Map.groupBy(jobs, (job) => job[by] ?? '');
  return [...groups]
    .map(([group, own]): JobSums => {
      const sums: JobSums = {
        group,
        jobs: own.length,
        failed: own.filter(({ state = '' }) => !WELL.includes(state)).length,
      };
      const set = (name: keyof Omit<JobSums, 'group'>, value: number | undefined): void => {
        if (value !== undefined) sums[name] = value;
      };
      const accounted = own.filter(({ origin }) => origin === 'accounting').length;
      if (accounted > 0) sums.accounted = accounted;
      for (const name of ADDED) set(name, sumOf(own.map((job) => job[name])));
      set('cpu_use', weighed(own, 'cpu_use', 'core_hours'));
      set('gpu_use', weighed(own, 'gpu_use', 'gpu_hours'));
      const waits = own.flatMap(({ wait_seconds }) => wait_seconds ?? []);
      set('wait_seconds', waits.length === 0 ? undefined : sumOf(waits)! / waits.length);
      const peaks = own.flatMap(({ memory_peaks_bytes }) => memory_peaks_bytes ?? []);
      set('memory_peaks_bytes', peaks.length === 0 ? undefined : peaks.reduce((a, b) => Math.max(a, b)));
      return sums;
    })
    .sort((a, b) => (b.core_hours ?? 0) - (a.core_hours ?? 0) || b.jobs - a.jobs);
}

function sumOf(values: readonly (number | undefined)[]): number | undefined {
  const numbers = values.filter((value) => value !== undefined);
  return numbers.length === 0 ? undefined : numbers.reduce((a, b) => a + b, 0);
}

function weighed(
  jobs: readonly Summed[],
  use: 'cpu_use' | 'gpu_use',
  by: 'core_hours' | 'gpu_hours',
): number | undefined {
  const weighable = jobs.filter((job) => job[use] !== undefined && job[by] !== undefined);
  const all = sumOf(weighable.map((job) => job[by])) ?? 0;
  return all === 0 ? undefined : weighable.reduce((sum, job) => sum + job[use]! * job[by]!, 0) / all;
}
