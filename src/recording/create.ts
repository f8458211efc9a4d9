import * as fs from 'node:fs';
import * as path from 'node:path';
import { code, Fault, isFull, reason, usage } from '../base/fault.ts';
import { makeFolder } from '../base/folder.ts';
import type { Job } from './job.ts';
import { nodeName } from './node-folder.ts';
import { MOST_BYTES, readJson } from './record-file.ts';
import { replaceJson } from './replace.ts';
import { locked } from './update-job.ts';

/** Freed when job.json is written for the last time: how a job ended is known even when the disk is full. */
const RESERVE = 'job.json.reserve';
const RESERVE_BYTES = 8192;

/**
 * Makes a new recording: a folder that only its owner can read, with job.json in it. Returns its absolute path.
 * A folder that is there already must be empty, and keeps its rights. `claimed`: it was made for this by `claimFolder`.
 */
export function createRecording(folder: string, job: Job, claimed = false): string {
  if (folder === '') throw usage('the name of the recording is empty', 'name a folder, as in -o run7');
  const made = path.resolve(folder);
  const names = namesIn(made);
  if (names?.includes('job.json')) {
    throw new Fault(`${folder} is a recording already`, {
      hint: 'choose another folder with -o, or move that one away',
    });
  }
  if (names !== undefined && names.length > 0) {
    throw new Fault(`${folder} is not empty`, {
      hint: 'a recording needs a folder of its own: choose another with -o',
    });
  }
  try {
    if (names === undefined) makeFolder(made, 0o700);
    saveJob(made, job);
    if (job.end === undefined)
      fs.writeFileSync(path.join(made, RESERVE), Buffer.alloc(RESERVE_BYTES, 10), { mode: 0o600 });
  } catch (error) {
    if (names === undefined || claimed) discardRecording(made);
    const hint =
      code(error) === 'EACCES' || code(error) === 'EROFS'
        ? '-o FOLDER or the setting "recordings" choose another place'
        : isFull(error)
          ? 'free some space, or choose another place with -o'
          : undefined;
    throw new Fault(`cannot write ${made}: ${reason(error)}`, hint === undefined ? {} : { hint });
  }
  return made;
}

function namesIn(folder: string): string[] | undefined {
  try {
    return fs.readdirSync(folder);
  } catch {
    return undefined;
  }
}

/** Replaces job.json; what people have said of the job meanwhile (`tacho annotate`) stays. */
export function saveJob(recording: string, job: Job): void {
  const file = path.join(recording, 'job.json');
  if (job.end !== undefined) fs.rmSync(path.join(recording, RESERVE), { force: true });
  locked(file, () => replaceJson(file, withWords(job, file)));
}

function withWords(job: Job, file: string): Job {
  let said: Partial<Job>;
  try {
    said = readJson(file, MOST_BYTES.job) as Partial<Job>;
  } catch {
    // there is none yet, or it is damaged: either way this one takes its place
    return job;
  }
  const { annotations, tags } = said;
  return { ...job, tags: { ...job.tags, ...tags }, ...(annotations === undefined ? {} : { annotations }) };
}

/** Makes the first folder of `name`, `name-2`, `name-3`… that is not taken: two that begin at once get one each. */
export function claimFolder(parent: string, name: string): string {
  for (let n = 1; ; n++) {
    const candidate = path.resolve(parent, n === 1 ? name : `${name}-${n}`);
    try {
      makeFolder(path.resolve(parent));
      fs.mkdirSync(candidate, { mode: 0o700 });
      return candidate;
    } catch (error) {
      if (code(error) === 'EEXIST') continue;
      throw new Fault(`cannot write ${candidate}: ${reason(error)}`, {
        hint: '-o FOLDER or the setting "recordings" choose another place',
      });
    }
  }
}

/** What is written beside the nodes' folders while a recording goes on. */
const LOGS = ['launch.log', 'own.log'];

/** Takes back a recording that has come to nothing: what Tacho made, and the folder if nothing else is in it. */
export function discardRecording(recording: string): void {
  const names = namesIn(recording);
  if (names === undefined) return;
  for (const name of names) {
    if (name.startsWith('job.json') || LOGS.includes(name) || nodeName(name) !== undefined)
      fs.rmSync(path.join(recording, name), { recursive: true });
  }
  if (fs.readdirSync(recording).length === 0) fs.rmdirSync(recording);
}
