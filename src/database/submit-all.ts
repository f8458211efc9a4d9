import { longRun, shortRun } from '../base/short-run.ts';
import { connect, type Database } from './connect.ts';
import { needSchema } from './schema.ts';
import type { SubmitOptions } from './submit.ts';
import type { SubmitResult } from './submit-folder.ts';

/** While one waits for the database, another is read. */
const CONNECTIONS = 2;
/** More recordings than these take long. */
const FEW = 4;

export interface SubmitAllOptions extends SubmitOptions {
  /** Told of every recording as soon as its fate is known. */
  tell?: (result: SubmitResult) => void;
  /** Which of them are archives or folders of EPMT. */
  archives?: ReadonlySet<string>;
}

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
      const recordingIndex = next++;
      if (recordingIndex === FEW) longRun();
      results[recordingIndex] = await submitOne(database, folders[recordingIndex]!);
      options.tell?.(results[recordingIndex]);
    }
  };
  const opening = connect(address);
  // told when it is waited for
  opening.catch(() => {});
  // the rest of the program is loaded while the database answers
  const { submitFolder } = await import('./submit-folder.ts');
  const submitOne = async (database: Database, input: string): Promise<SubmitResult> =>
    options.archives?.has(input) === true
      ? (await import('./submit-archive.ts')).submitArchive(database, input, options)
      : submitFolder(database, input, options);
  const first = await opening;
  shortRun();
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
