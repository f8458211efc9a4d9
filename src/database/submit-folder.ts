import { Fault } from '../base/fault.ts';
import { refreshJob } from '../jobs/schedulers/refresh.ts';
import { openRecording } from '../recording/folder/open.ts';
import type { Database } from './connect.ts';
import { needJob, type SubmitOptions, type Submitted, submitRecording } from './submit.ts';
import { isDatabaseTrouble } from './trouble.ts';

export type SubmitResult = { path: string; id: string } & ({ submitted: Submitted } | { refused: Fault });

/** Submits the recording in a folder; a fault of its own is a refusal. */
export async function submitFolder(
  database: Database,
  folder: string,
  options: SubmitOptions = {},
): Promise<SubmitResult> {
  let id = '';
  try {
    const recording = openRecording(folder);
    needJob(recording);
    recording.job = await refreshJob(recording);
    id = recording.job.id;
    return { path: folder, id, submitted: await submitRecording(database, recording, options) };
  } catch (error) {
    if (!(error instanceof Fault) || isDatabaseTrouble(error)) throw error;
    return { path: folder, id, refused: error };
  }
}
