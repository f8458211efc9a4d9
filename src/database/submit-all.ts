import { Fault } from '../base/fault.ts';
import { refreshJob } from '../jobs/refresh.ts';
import { openRecording } from '../recording/open.ts';
import { connect, type Database } from './connect.ts';
import { needSchema } from './schema.ts';
import { needJob, type SubmitOptions, type Submitted, submitRecording } from './submit.ts';
import { isDatabaseTrouble } from './trouble.ts';

/** While one waits for the database, another is read. */
const CONNECTIONS = 2;

export interface SubmitAllOptions extends SubmitOptions {
  /** Told of every recording as soon as its fate is known. */
  tell?: (result: SubmitResult) => void;
}

export type SubmitResult = { path: string; id: string } & ({ submitted: Submitted } | { refused: Fault });

/** Submits recordings. One that is refused does not keep the others back; trouble with the database ends it. */
export async function submitAll(
  address: string,
  folders: readonly string[],
  options: SubmitAllOptions = {},
): Promise<SubmitResult[]> {
  const results = new Array<SubmitResult>(folders.length);
  let next = 0;
  const work = async (database: Database): Promise<void> => {
    while (next < folders.length) {
      const place = next++;
      results[place] = await submitFolder(database, folders[place]!, options);
      options.tell?.(results[place]);
    }
  };
  const first = await connect(address);
  const open = [first];
  try {
    await needSchema(first);
    while (open.length < Math.min(CONNECTIONS, folders.length)) open.push(await connect(address));
    const done = await Promise.allSettled(open.map(work));
    for (const each of done) if (each.status === 'rejected') throw each.reason;
  } finally {
    await Promise.all(open.map((database) => database.close()));
  }
  return results;
}

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
