import * as fs from 'node:fs';
import * as path from 'node:path';
import { code } from '../../base/fault.ts';
import type { Job } from '../../recording/folder/job.ts';
import { jobInShort } from '../../recording/folder/node-names.ts';
import { readRecord, replaceRecord } from './archive-folder.ts';
import { filedJob } from './checked.ts';

/** A lock that is older was left by somebody who was killed, or put there to stay. */
const STALE_MS = 10_000;

/**
 * Replaces job.json; what people have said of the job meanwhile stays. Returns the job as it was written; undefined when
 * somebody else is changing it just now: a hub has no time to wait for anyone.
 */
export function saveJobRecord(folder: string, job: Job): Job | undefined {
  const file = path.join(folder, 'job.json');
  const lock = `${file}.lock`;
  try {
    fs.closeSync(fs.openSync(lock, 'wx', 0o600));
  } catch (error) {
    if (code(error) !== 'EEXIST') throw error;
    const since = fs.lstatSync(lock, { throwIfNoEntry: false })?.mtimeMs;
    // a clock that was set may show it as made later than now
    if (since === undefined || Math.abs(Date.now() - since) < STALE_MS) return undefined;
  }
  try {
    const storedRecord = readRecord<object>(file);
    const storedJob = storedRecord === undefined ? undefined : filedJob(storedRecord);
    const saved: Job = {
      ...job,
      tags: { ...job.tags, ...storedJob?.tags },
      ...(storedJob?.annotations === undefined ? {} : { annotations: storedJob.annotations }),
    };
    replaceRecord(file, jobInShort(saved));
    return saved;
  } finally {
    fs.rmSync(lock, { force: true });
  }
}
