import { stated } from '../../base/stated.ts';
import { VERSION } from '../../base/version.ts';
import { keptEnvironment } from '../../jobs/schedulers/environment.ts';
import { schedulerOf } from '../../jobs/schedulers/job-facts.ts';
import { whole } from '../../jobs/schedulers/scheduler.ts';
import { FORMAT, type Job } from '../../recording/folder/job.ts';
import type { JobTimes } from './job-times.ts';
import type { Metadata } from './metadata.ts';
import type { ProcessRows } from './rows.ts';

/** job.json from job_metadata; what the scheduler had given to the job stands in its environment. */
export async function jobOf(metadata: Metadata, times: JobTimes, nodes: string[], rows: ProcessRows): Promise<Job> {
  const { environment: env } = metadata;
  const scheduler = schedulerOf(env);
  const nothing = async (): Promise<{ stdout: string; trouble: string }> => ({ stdout: '', trouble: 'long ago' });
  const facts = scheduler.name === 'none' ? undefined : await scheduler.facts(nothing, env, () => {});
  const exitCode = exitCodeOf(metadata, rows);
  const { reason } = metadata;
  const annotations = Object.keys(metadata.annotations).length > 0 ? metadata.annotations : undefined;
  const job = stated({
    format: FORMAT,
    tacho: VERSION,
    ...facts,
    id: metadata.id,
    scheduler: scheduler.name,
    name: metadata.name || metadata.id,
    user: metadata.user,
    uid: whole(env.SLURM_JOB_UID) ?? -1,
    directory: facts?.directory ?? env.PWD,
    asked: facts?.asked ?? {},
    nodes,
    interval_seconds: Number.NaN,
    // EPMT says the start again where it does not know when the job was submitted, which is always
    submit: times.submit < times.start ? times.submit : undefined,
    start: times.start,
    end: times.stop,
    state: exitCode === 0 ? 'completed' : Number.isNaN(exitCode) ? 'unknown' : 'failed',
    exit_code: Number.isNaN(exitCode) ? undefined : exitCode,
    reason: reason === '' || reason === 'none' ? undefined : reason,
    tags: metadata.tags,
    annotations,
    environment: keptEnvironment(env),
  });
  return job as Job;
}

/** EPMT writes 0 whatever happened, so that of the first process counts. */
function exitCodeOf({ exitCode }: Metadata, rows: ProcessRows): number {
  if (exitCode !== 0 || rows.processes === 0) return exitCode;
  const start = rows.column('start');
  let earliest = 0;
  for (let p = 1; p < rows.processes; p++) if (start[rows.first[p]!]! < start[rows.first[earliest]!]!) earliest = p;
  return rows.column('exitcode')[rows.first[earliest]!]!;
}
