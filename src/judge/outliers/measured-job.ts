import { processJob, readColumns } from '../../query/processes/processes.ts';
import type { ProcessColumns, ProcessJob } from '../../query/processes/set.ts';
import { type AllThreads, readAllThreads } from '../../query/processes/threads.ts';
import type { Recording } from '../../recording/folder/open.ts';
import type { Features } from './features.ts';

/** One of several jobs that are compared. What it holds is read when it is asked for, so that many jobs fit. */
export interface MeasuredJob {
  job: ProcessJob;
  processes(): Promise<ProcessColumns>;
  threads(processes: ProcessColumns): Promise<AllThreads>;
  /** What was measured of the job beside its processes, by feature. */
  measured(): Promise<ReadonlyMap<string, number>>;
  /** What is kept of its features, so that its processes need not be read; undefined: nothing that still holds. */
  kept?(): Promise<KeptFeatures | undefined>;
}

/** What is kept of a job's features, with the recording, in the index of an archive or in a database. */
export interface KeptFeatures {
  job: Features;
  /** The tag that operations go by, and their features by name; not there: only the job's own are kept. */
  tag?: string;
  operations?: ReadonlyMap<string, Features>;
}

/** Recordings as jobs to be compared. `elsewhere`: what an index has of a recording that keeps nothing itself. */
export function measuredRecordings(
  recordings: readonly Recording[],
  elsewhere: (recording: Recording) => Features | undefined = () => undefined,
): MeasuredJob[] {
  return recordings.map((recording) => ({
    job: processJob(recording.job, recording.path),
    processes: async () => readColumns([recording]),
    threads: async (processes) => readAllThreads(recording, processes),
    measured: async () => (await import('./measured-features.ts')).measuredFeatures(recording),
    kept: async () => {
      const kept = (await import('./features-file.ts')).readKept(recording);
      if (kept !== undefined) return kept;
      const job = elsewhere(recording);
      return job === undefined ? undefined : { job };
    },
  }));
}
