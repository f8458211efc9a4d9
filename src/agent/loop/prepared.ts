import { isUnwritable } from '../../base/fault.ts';
import { makeFolder } from '../../base/folder.ts';
import { saveJob } from '../../recording/folder/create.ts';
import type { Job } from '../../recording/folder/job.ts';

/**
 * Makes the folders of a recording, and job.json when it is to be written. While the disk takes nothing that is left for
 * later: samples wait in memory. Returns what does it then, which throws while it cannot; once done it does nothing.
 */
export function prepared(folder: string, nodePath: string, job: () => Job, write: boolean): () => void {
  let done = false;
  const prepare = (): void => {
    if (done) return;
    makeFolder(folder, 0o700);
    makeFolder(nodePath, 0o700);
    if (write) saveJob(folder, job());
    done = true;
  };
  try {
    prepare();
  } catch (error) {
    if (!isUnwritable(error)) throw error;
  }
  return prepare;
}
