import type { MeasuredJob } from '../judge/outliers/measured-job.ts';
import type { Report } from '../judge/report-schema.ts';
import type { Database } from './connect.ts';
import { processJobOf, type StoredJob } from './find-jobs.ts';
import { readAllThreads, readProcesses } from './source.ts';

/** Jobs in the database as jobs to be measured against each other. */
export function measuredJobs(database: Database, jobs: readonly StoredJob[]): MeasuredJob[] {
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
  }));
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
