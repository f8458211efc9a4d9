import * as fs from 'node:fs';
import type { Fault } from '../base/fault.ts';
import { stated } from '../base/stated.ts';
import { warn } from '../base/warn.ts';
import { isSettled } from '../jobs/schedulers/is-settled.ts';
import * as open from '../recording/folder/open.ts';
import { type PlaceOptions, resolveNames } from './named-recordings.ts';

/** What was said already: some commands look again and again. */
const warned = new Set<string>();

/**
 * The recordings that a command is about: named by path or by job; of no name, the usual ones. What has to be left out is
 * said, and the exit code says so too.
 */
export async function findRecordings(
  names: readonly string[],
  least = 1,
  options: PlaceOptions = {},
): Promise<open.Recording[]> {
  const { paths, refused } = await resolveNames(names, options);
  if (paths.length === 0) throw refused[0];
  const recordings = open.findRecordings(paths, leftOut, least);
  if (recordings.length < least && refused.length > 0) throw refused[0];
  for (const why of refused) leftOut(why);
  for (const recording of recordings) await addUnfiled(recording);
  return recordings;
}

/** One of perhaps very many recordings: not all of them can be open at once. */
export interface FoundRecording {
  path: string;
  /** What is in its folder. */
  names: string[];
  /** What tells it from others: a whole job takes some kilobytes. */
  job: JobHead;
  /** What its scheduler has said of the job since. */
  refreshed?: open.Recording['job'];
  /** Whether nobody needs to be asked how the job ended: not at all, nor for its steps. */
  isSettled: boolean;
  hasSteps: boolean;
  /** Of a few. */
  recording?: open.Recording;
}

export type JobHead = Pick<open.Recording['job'], 'id' | 'name' | 'tags' | 'start' | 'end'>;

const headOf = ({ id, name, tags, start, end }: open.Recording['job']): JobHead => ({
  ...{ id, name, tags, start },
  ...stated({ end }),
});

/** Number of recordings that stay open: few are opened only once. */
const STAY_OPEN = 16;

/** The same for commands that take one after the other. `before` is told of each how many there were before it. */
export async function findEach(
  names: readonly string[],
  options: PlaceOptions = {},
  before: (count: number) => void = () => {},
): Promise<FoundRecording[]> {
  const { paths, refused } = await resolveNames(names, options);
  if (paths.length === 0) throw refused[0];
  let count = 0;
  const all = open.findEach(
    paths,
    (path, names): FoundRecording => {
      before(count);
      const job = count++ < STAY_OPEN ? undefined : open.readJob(path);
      // a job that nobody needs to be asked about is all that is looked at now
      if (job !== undefined && isSettled({ job, nodes: [] }, true))
        return { path, names, job: headOf(job), isSettled: true, hasSteps: true };
      const recording = open.openRecording(path, names);
      return {
        path,
        names,
        job: headOf(recording.job),
        isSettled: isSettled(recording, false),
        hasSteps: isSettled(recording, true),
        ...(count <= STAY_OPEN ? { recording } : {}),
      };
    },
    leftOut,
  );
  for (const why of refused) leftOut(why);
  for (const { recording } of all) if (recording !== undefined) await addUnfiled(recording);
  return all;
}

/** Opens one that was found, unless it is open. */
export async function openFound({
  path,
  names,
  recording,
  refreshed,
}: Pick<FoundRecording, 'path' | 'names' | 'recording' | 'refreshed'>): Promise<open.Recording> {
  const opened = recording ?? (await addUnfiled(open.openRecording(path, names)));
  return refreshed === undefined ? opened : { ...opened, job: refreshed };
}

async function addUnfiled(recording: open.Recording): Promise<open.Recording> {
  const { process_records } = recording.job;
  if (process_records !== undefined && fs.existsSync(process_records.file)) {
    const { readUnfiled } = await import('../agent/run/adopt-records.ts');
    readUnfiled(recording);
  }
  return recording;
}

function leftOut({ message, hint }: Fault): void {
  if (!warned.has(message)) warn(`left out: ${message}${hint === undefined ? '' : `; ${hint}`}`);
  warned.add(message);
  process.exitCode = 1;
}
