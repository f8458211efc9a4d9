import type { History } from '../history/ask/history.ts';
import type { JobSummary } from '../history/tables/summary.ts';
import { type Judged, judge } from './evaluate.ts';
import type { Policy } from './policy.ts';
import { type AroundJob, needsOf, surroundingsOf } from './surroundings.ts';

/** A row of a job that runs must not be older: else nobody knows whether it still does. */
const FRESH_US = 3600e6;

/** The jobs that a policy looks at, at a moment. */
async function jobsFor(history: History, policy: Policy, now: number): Promise<JobSummary[]> {
  const { scope, jobs: which, window_seconds: window } = policy;
  const from = now - window * 1e6;
  if (which === 'running') {
    const running = await history.selectJobs({ ...scope, states: scope.states ?? ['running'], from: now - FRESH_US });
    return running.filter((job) => isRunning(job, now));
  }
  // a job that was cut off has no end: it is neither over nor running
  const all = await history.selectJobs({ ...scope, from, to: now });
  return all.filter((job) => inWindow(job, policy, now));
}

/** The same for rows at hand; what ran at that moment is not known of jobs that are over. */
function inWindow(job: JobSummary, { jobs: which, window_seconds: window }: Policy, now: number): boolean {
  if (job.end_time === undefined) return which !== 'ended' && isRunning(job, now);
  return which !== 'running' && job.end_time >= now - window * 1e6 && job.end_time < now;
}

export function isRunning(job: JobSummary, now: number): boolean {
  if (job.state !== 'running' || job.end_time !== undefined) return false;
  return job.wall_seconds !== undefined && now - (job.time + job.wall_seconds * 1e6) <= FRESH_US;
}

/** What policies have to say now, in their order. */
export async function judgeNow(
  history: History,
  policies: readonly Policy[],
  now: number,
): Promise<{ policy: Policy; judged: Judged }[]> {
  const selected: { policy: Policy; jobs: JobSummary[] }[] = [];
  for (const policy of policies) selected.push({ policy, jobs: await jobsFor(history, policy, now) });
  const around = await aroundAll(history, selected, now);
  return selected.map(({ policy, jobs }) => ({ policy, judged: judge(policy, jobs, around) }));
}

/** One look around serves all policies that need one. */
export async function aroundAll(
  history: History,
  selected: readonly { policy: Policy; jobs: readonly JobSummary[] }[],
  now: number,
): Promise<AroundJob> {
  const looking = selected.filter(({ policy }) => needsOf([policy]).size > 0);
  return surroundingsOf(
    history,
    looking.flatMap(({ jobs }) => jobs),
    needsOf(looking.map(({ policy }) => policy)),
    now,
  );
}
