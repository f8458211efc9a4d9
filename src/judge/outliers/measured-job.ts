import { processJob, readColumns } from '../../query/processes/processes.ts';
import type { ProcessColumns, ProcessJob } from '../../query/processes/set.ts';
import { type AllThreads, readAllThreads } from '../../query/processes/threads.ts';
import type { Recording } from '../../recording/folder/open.ts';

/** One of several jobs that are compared. What it holds is read when it is asked for, so that many jobs fit. */
export interface MeasuredJob {
  job: ProcessJob;
  processes(): Promise<ProcessColumns>;
  threads(processes: ProcessColumns): Promise<AllThreads>;
  /** What was measured of the job beside its processes, by feature. */
  measured(): Promise<ReadonlyMap<string, number>>;
}

/** Recordings as jobs to be compared. */
export function measuredRecordings(recordings: readonly Recording[]): MeasuredJob[] {
  return recordings.map((recording) => ({
    job: processJob(recording.job, recording.path),
    processes: async () => readColumns([recording]),
    threads: async (processes) => readAllThreads(recording, processes),
    measured: async () => {
      if (!isSampled(recording)) return new Map();
      const { measuredFeatures } = await import('./measured-features.ts');
      return measuredFeatures(recording);
    },
  }));
}

/** Whether there is anything beside the records of processes and threads. */
const isSampled = ({ nodes }: Recording): boolean =>
  nodes.some(({ tables }) => [...tables.keys()].some((name) => !/^(process_start|process_end|thread_end)$/.test(name)));
