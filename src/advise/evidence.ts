import type { JobSummary } from '../history/tables/summary.ts';
import { quantiles } from '../recording/sealed/quantiles.ts';

/** What one run used of a resource. */
export interface RunUse {
  job: string;
  value: number;
}

/** How much a resource was used: by runs that completed, which show the need, and by others, which only show a part of it. */
export interface Evidence {
  /** Runs that completed and were measured. */
  runs: number;
  p50?: number;
  p95?: number;
  max?: number;
  /** The run that used most. */
  max_job?: string;
  /** Runs that ended before they were done: they needed at least this. */
  at_least: (RunUse & { why: string })[];
  /** Runs that completed and of which this is not known. */
  unmeasured: number;
}

/** States of jobs that are over. */
export const isOver = ({ state }: JobSummary): boolean =>
  state !== undefined && !/^(running|pending|unknown)$/.test(state);
export const isCompleted = ({ state }: JobSummary): boolean => state === 'completed';

/** Why a job that did not complete shows no need. */
const WHY: Readonly<Record<string, string>> = {
  timeout: 'stopped by its time limit',
  out_of_memory: 'killed because memory ran out',
  failed: 'a failure',
  cancelled: 'cancelled',
  node_fail: 'ended by a lost node',
  preempted: 'preempted',
};

/** A job of this state needed more than its limit of the resource. */
export interface Bound {
  state: string;
  limit(job: JobSummary): number | undefined;
}

/** What jobs tell of a resource. `beyond`: the state in which a job met the limit of it. */
export function evidenceOf(
  jobs: readonly JobSummary[],
  used: (job: JobSummary) => number | undefined,
  beyond?: Bound,
): Evidence {
  const completed = jobs.filter(isCompleted);
  const measuredRuns: RunUse[] = completed.flatMap((job) => {
    const value = used(job);
    return value === undefined ? [] : [{ job: job.job, value }];
  });
  const at_least = jobs
    .filter((job) => isOver(job) && !isCompleted(job))
    .flatMap((job) => {
      const met = job.state === beyond?.state ? beyond?.limit(job) : undefined;
      const value = Math.max(used(job) ?? Number.NaN, met ?? Number.NEGATIVE_INFINITY);
      const evidenceValue = Number.isNaN(value) ? met : value;
      return evidenceValue === undefined
        ? []
        : [{ job: job.job, value: evidenceValue, why: WHY[job.state!] ?? job.state! }];
    });
  const evidence: Evidence = {
    runs: measuredRuns.length,
    at_least,
    unmeasured: completed.length - measuredRuns.length,
  };
  if (measuredRuns.length === 0) return evidence;
  const [p50, p95] = quantiles(
    Float64Array.from(measuredRuns, ({ value }) => value),
    measuredRuns.length,
    [0.5, 0.95],
  ) as [number, number];
  const most = measuredRuns.reduce((a, b) => (b.value > a.value ? b : a));
  return { ...evidence, p50, p95, max: most.value, max_job: most.job };
}

/** The most that any run is known to have used, completed or not. */
export function mostUsed({ max, at_least }: Evidence): number | undefined {
  const all = [...(max === undefined ? [] : [max]), ...at_least.map(({ value }) => value)];
  return all.length === 0 ? undefined : all.reduce((a, b) => Math.max(a, b));
}
