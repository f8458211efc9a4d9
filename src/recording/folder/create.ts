import * as fs from 'node:fs';
import * as path from 'node:path';
import { code, Fault, isFull, reason, usage } from '../../base/fault.ts';
import { makeFolder } from '../../base/folder.ts';
import { stated } from '../../base/stated.ts';
import { JOB_NEEDS, type Job } from './job.ts';
import { nodeName } from './node-folder.ts';
import { jobInShort } from './node-names.ts';
import { MOST_BYTES, readJson } from './record-file.ts';
import { replaceJson } from './replace.ts';
import { shaped } from './shape.ts';
import { locked } from './update-job.ts';

/** Freed when job.json is written for the last time: how a job ended is known even when the disk is full. */
const RESERVE = 'job.json.reserve';
const RESERVE_BYTES = 8192;

/** Something is in the folder: where it was empty a moment ago, somebody else has begun a recording there. */
class Taken extends Fault {}

/**
 * Makes a new recording: a folder that only its owner can read, with job.json in it. Returns its absolute path.
 * A folder that is there already must be empty, and keeps its rights. `claimed`: it was made for this by `claimFolder`.
 */
export function createRecording(folder: string, job: Job, claimed = false): string {
  if (folder === '') throw usage('the name of the recording is empty', 'name a folder, as in -o run7');
  const made = path.resolve(folder);
  const names = namesIn(made);
  if (names?.includes('job.json')) {
    throw new Taken(`${folder} is a recording already`, {
      hint: 'choose another folder with -o, or move that one away',
    });
  }
  if (names !== undefined && names.length > 0) {
    throw new Taken(`${folder} is not empty`, {
      hint: 'a recording needs a folder of its own: choose another with -o',
    });
  }
  try {
    if (names === undefined) makeFolder(made, 0o700);
    // of two that found it empty, one makes the file
    if (job.end === undefined)
      fs.writeFileSync(path.join(made, RESERVE), Buffer.alloc(RESERVE_BYTES, 10), { mode: 0o600, flag: 'wx' });
    saveJob(made, job);
  } catch (error) {
    if (code(error) === 'EEXIST' && names !== undefined)
      throw new Taken(`${folder} is a recording already`, { hint: 'choose another folder with -o' });
    if (names === undefined || claimed) discardRecording(made);
    else fs.rmSync(path.join(made, RESERVE), { force: true });
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

/**
 * A new recording in `folder`, or else in one called `name` in `parent`. Where that is taken, in the first of `run7-2`,
 * `run7-3`… that is not, with a warning; `strict`: then it is refused. Returns its absolute path.
 */
export function newRecording(
  job: Job,
  options: { folder?: string; parent: string; name: string; strict?: boolean; say: (text: string) => void },
): string {
  const { folder, strict, say } = options;
  if (strict && folder !== undefined) return createRecording(folder, job);
  if (folder === '') say(`the name of the recording is empty: it is ${options.name}`);
  if (!folder) return createRecording(claimFolder(options.parent, options.name), job, true);
  const whole = path.resolve(folder);
  for (;;) {
    const isEmpty = namesIn(whole)?.length === 0;
    const free = isEmpty ? whole : claimFolder(path.dirname(whole), path.basename(whole), 0o700);
    try {
      createRecording(free, job, !isEmpty);
    } catch (error) {
      if (error instanceof Taken) continue;
      throw error;
    }
    if (free !== whole)
      say(`${folder} exists already: the recording is ${path.join(path.dirname(folder), path.basename(free))}`);
    return free;
  }
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
  locked(file, () => replaceJson(file, jobInShort(withWords(job, file))));
}

function withWords(job: Job, file: string): Job {
  let jobFields: Partial<Job>;
  try {
    jobFields = shaped<Job>(
      readJson(file, MOST_BYTES.job) as object,
      { tags: JOB_NEEDS.tags, annotations: JOB_NEEDS.annotations },
      [],
    );
  } catch {
    // there is none yet, or it is damaged: either way this one takes its place
    return job;
  }
  const { annotations, tags } = jobFields;
  return { ...job, tags: { ...job.tags, ...tags }, ...stated({ annotations }) };
}

/** Makes the first folder of `name`, `name-2`, `name-3`… that is not taken: two that begin at once get one each. */
function claimFolder(parent: string, name: string, above = 0o777): string {
  const folder = path.resolve(parent);
  try {
    makeFolder(folder, above);
  } catch (error) {
    // what is in its place is no folder
    throw cannotClaim(path.join(folder, name), code(error) === 'EEXIST' ? 'not a folder' : reason(error));
  }
  for (let n = 1; ; n++) {
    const candidate = path.join(folder, n === 1 ? name : `${name}-${n}`);
    try {
      fs.mkdirSync(candidate, { mode: 0o700 });
      return candidate;
    } catch (error) {
      if (code(error) !== 'EEXIST') throw cannotClaim(candidate, reason(error));
    }
  }
}

const cannotClaim = (folder: string, why: string): Fault =>
  new Fault(`cannot write ${folder}: ${why}`, {
    hint: '-o FOLDER or the setting "recordings" choose another place',
  });

/** Takes back what somebody who was killed meanwhile had made of a recording, where job.json is not there yet. */
export function discardUnbegun(folder: string): void {
  const names = namesIn(folder);
  const isUnbegun = names?.every((name) => name.startsWith('job.json.'));
  if (names !== undefined && names.length > 0 && isUnbegun) discardRecording(folder);
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
