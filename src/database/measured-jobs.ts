import { numbersOf } from '../judge/outliers/features-file.ts';
import type { KeptFeatures, MeasuredJob } from '../judge/outliers/measured-job.ts';
import type { Report } from '../judge/report-schema.ts';
import type { Database } from './connect.ts';
import { processJobOf, type StoredJob } from './find-jobs.ts';
import { readAllThreads, readProcesses } from './source.ts';

/** Jobs in the database as jobs to be measured against each other. */
export function measuredJobs(database: Database, jobs: readonly StoredJob[]): MeasuredJob[] {
  let all: Promise<Map<number, KeptFeatures>> | undefined;
  return jobs.map((job) => ({
    job: processJobOf(job),
    processes: () => readProcesses(database, job),
    threads: () => readAllThreads(database, job),
    async measured() {
      const { rows } = await database.query<{ measured: Record<string, number> }>(
        'select measured from tacho.jobs where job = $1',
        [job.job],
      );
      return new Map(Object.entries(rows[0]?.measured ?? {}));
    },
    async kept() {
      // one question for all of them
      all ??= keptFeatures(database, jobs);
      return (await all).get(job.job);
    },
  }));
}

/** What is kept of jobs; those that an older Tacho stored have nothing. */
async function keptFeatures(database: Database, jobs: readonly StoredJob[]): Promise<Map<number, KeptFeatures>> {
  const { rows } = await database.query<{ stored: string; features: string }>(
    'select stored, features from tacho.summary_jobs where stored = any($1::bigint[]) and features is not null',
    [jobs.map(({ job }) => job)],
  );
  return new Map(
    rows.map(({ stored, features }) => [Number(stored), { job: numbersOf(JSON.parse(features) as unknown) }]),
  );
}

/** The report cards of jobs, as they were when the jobs were submitted. */
export async function storedReports(database: Database, jobs: readonly StoredJob[]): Promise<Report[]> {
  const reports: Report[] = [];
  for (const { job, origin } of jobs) {
    const { rows } = await database.query<{ report: string }>('select report::text from tacho.jobs where job = $1', [
      job,
    ]);
    // JSON has no NaN: it came as null
    const report = JSON.parse(rows[0]!.report, (_, value) => (value === null ? Number.NaN : value)) as Report;
    reports.push({ ...report, recording: origin });
  }
  return reports;
}
