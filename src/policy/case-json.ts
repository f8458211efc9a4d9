import { stated } from '../base/stated.ts';
import type { Case, CaseJob } from './evaluate.ts';

/** A job of a case, as programs read it; times are epoch microseconds. */
function caseJobJson({ summary: job, figures, exemption_unknown }: CaseJob): Record<string, unknown> {
  return stated({
    job: job.job,
    cluster: job.cluster,
    user: job.user,
    name: job.name,
    account: job.account,
    partition: job.partition,
    state: job.state,
    start: job.time,
    end: job.end_time,
    nodes: job.node_list,
    wall_seconds: job.wall_seconds,
    core_hours: job.core_hours,
    core_hours_wasted: job.core_hours_wasted,
    gpu_hours: job.gpu_hours,
    gpu_hours_wasted: job.gpu_hours_wasted,
    findings: job.findings,
    recording: job.recording,
    figures,
    exemption_unknown,
  });
}

export const caseJson = ({ user, jobs, totals }: Case): Record<string, unknown> => ({
  user,
  totals,
  jobs: jobs.map(caseJobJson),
});

export const CASE_COLUMNS = [
  'policy',
  'time',
  'user',
  'job',
  'cluster',
  'name',
  'account',
  'partition',
  'state',
  'start',
  'end',
  'wall_seconds',
  'core_hours',
  'core_hours_wasted',
  'gpu_hours',
  'gpu_hours_wasted',
  'message',
  'figures',
] as const;

/** One row per job of a case, for CSV. */
export const caseRows = (policy: string, { jobs }: Case, more: Record<string, unknown> = {}): object[] =>
  jobs.map((job) => ({ policy, ...caseJobJson(job), ...more }));
