import * as path from 'node:path';
import { jobName, type NodeJob } from '../../jobs/on-node/job-file.ts';
import { readJob } from '../../recording/folder/open.ts';

export interface JobFolder {
  folder: string;
  /** A recording of this very run is there already. */
  exists: boolean;
}

/**
 * Where a run of a job is recorded: `job-4711`, `job-4711r1` after a restart. Numbers begin again when a scheduler is set
 * up anew, and the recording of the job that had this one may still be here: then it is `job-4711.2`, `.3`, and so on.
 * `isClosing`: the job of this recording has ended, though job.json does not say so yet.
 */
export function jobFolder(spool: string, job: NodeJob, isClosing: (folder: string) => boolean): JobFolder {
  const first = path.join(spool, `job-${jobName(job)}`);
  for (let n = 1; ; n++) {
    const folder = n === 1 ? first : `${first}.${n}`;
    const there = readJob(folder);
    if (there === undefined) return { folder, exists: false };
    // a run that is gone on with began before its recording did
    const other = job.begin === undefined ? there.end !== undefined || isClosing(folder) : job.begin > there.start;
    if (!other) return { folder, exists: true };
  }
}

/** The same of a job that was found by its cgroup: that does not say which run it is, so the next one after what has ended. */
export function cgroupJobFolder(spool: string, job: NodeJob, isClosing: (folder: string) => boolean): JobFolder {
  for (;;) {
    const folder = path.join(spool, `job-${jobName(job)}`);
    const there = readJob(folder);
    if (there === undefined) return { folder, exists: false };
    if (there.end === undefined && !isClosing(folder)) return { folder, exists: true };
    job.restart = (job.restart ?? 0) + 1;
  }
}
