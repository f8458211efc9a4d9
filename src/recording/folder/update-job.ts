import * as fs from 'node:fs';
import * as path from 'node:path';
import { code, Fault, reason } from '../../base/fault.ts';
import { pause } from '../../base/pause.ts';
import { JOB_NEEDS, type Job } from './job.ts';
import { jobInShort } from './node-names.ts';
import { MOST_BYTES, readJson } from './record-file.ts';
import { replaceJson } from './replace.ts';
import { shaped } from './shape.ts';

/** Whoever holds the lock needs milliseconds; one that is older was left by somebody who was killed. */
const STALE = 10_000;
const PAUSE = 10;

/**
 * Changes job.json as it is now: a job that ends and a person who annotates it at the same moment do not undo each
 * other's words.
 */
export function updateJob(recording: string, change: (job: Job) => Job): Job {
  const file = path.join(recording, 'job.json');
  return locked(file, () => {
    let job: Job;
    try {
      job = readJson(file, MOST_BYTES.job) as Job;
      if (typeof job !== 'object' || job === null) throw new SyntaxError('no record');
      // what people said is changed, the rest stays as it is; many nodes stand there in short
      const { tags, annotations, nodes, steps, per_node, not_recorded, taken_nodes, own_use } = JOB_NEEDS;
      const inShort =
        typeof job.nodes === 'string' ? { nodes, steps, per_node, not_recorded, taken_nodes, own_use } : {};
      job = shaped<Job>(job, { tags, annotations, ...inShort }, []);
    } catch (error) {
      throw new Fault(`cannot read ${file}: ${error instanceof SyntaxError ? 'it is damaged' : reason(error)}`, {
        hint: `tacho verify ${recording} says more`,
        cause: error,
      });
    }
    const changed = change(job);
    const short = jobInShort(changed);
    // nobody would read it again
    const bytes = Buffer.byteLength(JSON.stringify(short, null, 1));
    if (bytes >= MOST_BYTES.job)
      throw new Fault(`cannot change ${file}: it would have ${bytes} bytes; more than ${MOST_BYTES.job} are not read`);
    replaceJson(file, short);
    return changed;
  });
}

/** Does something while nobody else changes the file. */
export function locked<T>(file: string, work: () => T): T {
  const lock = `${file}.lock`;
  const held = take(lock);
  try {
    return work();
  } finally {
    if (held) fs.rmSync(lock, { force: true });
  }
}

function take(lock: string): boolean {
  const begun = performance.now();
  for (;;) {
    try {
      fs.closeSync(fs.openSync(lock, 'wx', 0o600));
      return true;
    } catch (error) {
      // where no lock can be made, what is to be written says why
      if (code(error) !== 'EEXIST') return false;
    }
    const held = fs.lstatSync(lock, { throwIfNoEntry: false });
    // one from the future is as old as we have waited for it
    const waited = performance.now() - begun > STALE;
    if (held !== undefined && (waited || !held.isFile() || Date.now() - held.mtimeMs > STALE)) {
      if (!isRemoved(lock)) return false;
    } else pause(PAUSE);
  }
}

/** False: it is none of ours, but a folder, or may not be removed. */
function isRemoved(lock: string): boolean {
  try {
    fs.rmSync(lock, { force: true });
    return true;
  } catch {
    return false;
  }
}
