import * as path from 'node:path';
import { namesIn } from '../../base/folder.ts';
import type { Job } from './job.ts';
import { nodeFolder } from './node-folder.ts';
import { foldersBelow, readJob } from './open.ts';

/** A recording of a job that was looked for. */
export interface JobRecording {
  path: string;
  job: Pick<Job, 'id' | 'restart' | 'cluster' | 'start' | 'name' | 'recorded_by'>;
}

export type IsWanted = (job: Job, folder: string) => boolean;

/** The recordings in a folder, so many levels deep, whose job is wanted. Nothing but job.json is read. */
export function findJobs(archivePath: string, isWanted: IsWanted, depth = 4): JobRecording[] {
  const recordings: JobRecording[] = [];
  for (const { folder } of foldersBelow(archivePath, depth)) {
    const wanted = wantedJob(folder, isWanted);
    if (wanted !== undefined) recordings.push(wanted);
  }
  return recordings;
}

/**
 * The same in the archive of a hub, where the folders' names say whose jobs they are: those of other ids are not opened,
 * nor the folders of users who keep theirs to themselves.
 */
export function findArchivedJobs(archive: string, id: string, isWanted: IsWanted): JobRecording[] {
  const shelves = namesIn(archive).filter((name) => name.startsWith('user='));
  if (shelves.length === 0) return findJobs(archive, isWanted);
  const start = `job=${nodeFolder(id).slice('node='.length)}`;
  return shelves.flatMap((shelf) =>
    namesIn(path.join(archive, shelf))
      .filter((name) => name.startsWith(start))
      .flatMap((name) => wantedJob(path.join(archive, shelf, name), isWanted) ?? []),
  );
}

function wantedJob(folder: string, isWanted: IsWanted): JobRecording | undefined {
  let job: Job | undefined;
  try {
    job = readJob(folder);
  } catch {
    // somebody else's, or of a newer version: that is said when it is opened by its path
  }
  return job !== undefined && isWanted(job, folder) ? { path: folder, job } : undefined;
}
