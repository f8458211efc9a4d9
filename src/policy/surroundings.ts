import type { History } from '../history/ask/history.ts';
import type { LoadRow } from '../history/ask/load.ts';
import type { JobSummary } from '../history/tables/summary.ts';
import type { JobSurroundings } from './figures.ts';
import type { Policy } from './policy.ts';

/** Shorter waits are the scheduler's own time. */
const WAIT_US = 60e6;

export type AroundJob = (job: JobSummary) => JobSurroundings;

/** What the conditions of policies need to know beyond the rows of jobs. */
export function needsOf(policies: readonly Policy[]): Set<keyof JobSurroundings> {
  const conditions = policies.flatMap(({ when, total, unless }) => [...when, ...total, ...unless]);
  return new Set(conditions.flatMap((one) => (one.kind === 'number' ? (one.figure.around ?? []) : [])));
}

/** Asks the history what was around these jobs; only what is needed. */
export async function surroundingsOf(
  history: History,
  jobs: readonly JobSummary[],
  needs: ReadonlySet<keyof JobSurroundings>,
  now: number,
): Promise<AroundJob> {
  if (jobs.length === 0 || needs.size === 0) return () => ({});
  const from = jobs.reduce((first, { time }) => Math.min(first, time), now);
  const aroundJobs: AroundJob[] = [];
  if (['node_busy', 'node_cpus', 'node_gpus'].some((need) => needs.has(need as keyof JobSurroundings)))
    aroundJobs.push(
      onNodes(await history.load({ from, to: Math.max(now, from + 1), every: 'hour', zone: 'UTC' }), now),
    );
  if (needs.has('jobs_waiting') || needs.has('gpu_jobs_waiting'))
    aroundJobs.push(waitingAround(await waitingJobs(history, from), now));
  if (needs.has('gpu_idle_share')) {
    const findingRows = await history.selectFindings({ findings: ['gpu-idle-after-use'], from });
    const shares = new Map(findingRows.map((one) => [keyOf(one), one.value]));
    aroundJobs.push((job) => {
      const share = shares.get(keyOf(job));
      return share === undefined ? {} : { gpu_idle_share: share };
    });
  }
  return (job) => Object.assign({}, ...aroundJobs.map((aroundJob) => aroundJob(job)));
}

const keyOf = ({ cluster, job, time }: { cluster: string; job: string; time: number }): string =>
  JSON.stringify([cluster, job, time]);

const endOf = (job: JobSummary, now: number): number =>
  job.end_time ?? (job.wall_seconds === undefined ? now : job.time + job.wall_seconds * 1e6);

function onNodes(rows: readonly LoadRow[], now: number): AroundJob {
  const byNode = Map.groupBy(rows, ({ cluster, node }) => JSON.stringify([cluster, node]));
  return (job) => {
    const end = endOf(job, now);
    const hours = (job.node_list?.split(',') ?? [])
      .flatMap((node) => byNode.get(JSON.stringify([job.cluster, node])) ?? [])
      .filter(({ time }) => time < end && time + 3600e6 > job.time);
    const around: JobSurroundings = {};
    const busy = hours.flatMap((row) => busyOf(row, job.scheduler) ?? []);
    if (busy.length > 0) around.node_busy = busy.reduce((a, b) => a + b, 0) / busy.length;
    const cpus = hours.flatMap((row) => row.cpus ?? []);
    if (cpus.length > 0) around.node_cpus = cpus.reduce((a, b) => Math.min(a, b));
    if (hours.length > 0) around.node_gpus = hours.reduce((most, row) => Math.max(most, row.gpus ?? 0), 0);
    return around;
  };
}

/** A job that wastes a whole node leaves it idle, and yet nobody else can have it: what was given away counts. */
function busyOf(
  { cpus, cpus_allocated: given, cpu_use: use }: LoadRow,
  scheduler: string | undefined,
): number | undefined {
  if (scheduler === undefined || scheduler === 'none') return use;
  return given === undefined || cpus === undefined ? use : Math.min(1, Math.max(given / cpus, use ?? 0));
}

/** Jobs that wait, or waited, at some time from then on. */
async function waitingJobs(history: History, from: number): Promise<JobSummary[]> {
  const waited = await history.selectJobs({ from, ranges: { wait_seconds: { min: WAIT_US / 1e6 } } });
  const pending = await history.selectJobs({ states: ['pending'] });
  return [...waited, ...pending];
}

interface Waits {
  /** When they began and ended to wait, each in order. */
  begins: number[];
  ends: number[];
}

function waitingAround(waiting: readonly JobSummary[], now: number): AroundJob {
  const groups = new Map<string, Waits>();
  const groupOf = (...groupKeys: (string | boolean | undefined)[]): Waits => {
    const key = JSON.stringify(groupKeys);
    const group = groups.get(key) ?? { begins: [], ends: [] };
    groups.set(key, group);
    return group;
  };
  for (const job of waiting) {
    if (job.submit_time === undefined) continue;
    const end = job.state === 'pending' ? Number.POSITIVE_INFINITY : job.time;
    const gpu = (job.asked_gpus ?? job.gpus ?? 0) > 0;
    for (const groupKeys of [
      [job.cluster, job.partition],
      [job.cluster, job.partition, job.user],
    ])
      for (const kind of gpu ? ['any', 'gpu'] : ['any']) {
        const waits = groupOf(kind, ...groupKeys);
        waits.begins.push(job.submit_time);
        waits.ends.push(end);
      }
  }
  for (const { begins, ends } of groups.values()) {
    begins.sort((a, b) => a - b);
    ends.sort((a, b) => a - b);
  }
  return (job) => {
    const count = (kind: 'any' | 'gpu', ...user: string[]): number => {
      const waits = groups.get(JSON.stringify([kind, job.cluster, job.partition, ...user]));
      if (waits === undefined || endOf(job, now) - job.time < WAIT_US) return 0;
      // who had waited long enough before the end, less who had started by the beginning
      return below(waits.begins, endOf(job, now) - WAIT_US + 1) - below(waits.ends, job.time + WAIT_US);
    };
    return {
      jobs_waiting: count('any') - count('any', job.user),
      gpu_jobs_waiting: count('gpu') - count('gpu', job.user),
    };
  };
}

/** How many of these, which are in order, lie below a limit. */
function below(sorted: readonly number[], limit: number): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (sorted[middle]! < limit) low = middle + 1;
    else high = middle;
  }
  return low;
}
