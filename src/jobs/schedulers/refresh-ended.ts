import { Fault } from '../../base/fault.ts';
import { isAlive } from '../../recording/folder/alive.ts';
import type { Job } from '../../recording/folder/job.ts';
import { openRecording, type Recording, readJob } from '../../recording/folder/open.ts';
import type { Run } from './command.ts';
import { schedulerRunner } from './job-facts.ts';
import { fileJob, refreshJob } from './refresh.ts';

/** A scheduler serves others too: so long it is asked in all. */
const LIMIT_MS = 3000;

/** Own jobs that could not say how they ended, as `tacho stop` is a part of its job. */
const isUnsaid = ({ state, scheduler, uid }: Job): boolean =>
  (state === 'running' || state === 'unknown') &&
  scheduler !== 'none' &&
  scheduler !== 'file' &&
  uid === process.getuid!();

const isOver = ({ nodes }: Recording): boolean => !nodes.some((node) => isAlive(node));

/** Takes one recording after the other, and has their jobs say how they ended, where their schedulers know. */
export function endingsAsked(run: Run = schedulerRunner(2)): (recording: Recording) => Promise<Recording> {
  const limit = performance.now() + LIMIT_MS;
  return async (recording) => {
    if (!isUnsaid(recording.job) || !isOver(recording) || performance.now() > limit) return recording;
    return { ...recording, job: await refreshJob(recording, { run }) };
  };
}

/** The same, kept in the recordings: which were changed. What cannot be opened is reported by whoever reads it. */
export async function keepEndings(
  folders: readonly string[],
  run: Run = schedulerRunner(2),
): Promise<ReadonlySet<string>> {
  const limit = performance.now() + LIMIT_MS;
  const changed = new Set<string>();
  for (const folder of folders) {
    if (performance.now() > limit) break;
    try {
      const job = readJob(folder);
      if (job === undefined || !isUnsaid(job)) continue;
      const recording = openRecording(folder);
      if (isOver(recording) && (await fileJob(recording, { run })) !== undefined) changed.add(folder);
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
    }
  }
  return changed;
}
