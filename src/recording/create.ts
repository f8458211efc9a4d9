import * as fs from 'node:fs';
import * as path from 'node:path';
import { code, Fault, reason } from '../base/fault.ts';
import { makeFolder } from '../base/folder.ts';
import type { Job } from './job.ts';
import { nodeName } from './node-folder.ts';
import { replaceJson } from './replace.ts';
import { locked } from './update-job.ts';

/** Makes a new recording: a folder that only its owner can read, with job.json in it. Returns its absolute path. */
export function createRecording(folder: string, job: Job): string {
  const made = path.resolve(folder);
  if (fs.existsSync(path.join(made, 'job.json'))) {
    throw new Fault(`${folder} is a recording already`, {
      hint: 'choose another folder with -o, or move that one away',
    });
  }
  try {
    makeFolder(made, 0o700);
    fs.chmodSync(made, 0o700);
    saveJob(made, job);
  } catch (error) {
    const hint =
      code(error) === 'EACCES' || code(error) === 'EROFS'
        ? '-o FOLDER or the setting "recordings" choose another place'
        : code(error) === 'ENOSPC' || code(error) === 'EDQUOT'
          ? 'free some space, or choose another place with -o'
          : undefined;
    throw new Fault(`cannot write ${made}: ${reason(error)}`, hint === undefined ? {} : { hint });
  }
  return made;
}

/** Replaces job.json; what people have said of the job meanwhile (`tacho annotate`) stays. */
export function saveJob(recording: string, job: Job): void {
  const file = path.join(recording, 'job.json');
  locked(file, () => replaceJson(file, withWords(job, file)));
}

function withWords(job: Job, file: string): Job {
  let said: Partial<Job>;
  try {
    said = JSON.parse(fs.readFileSync(file, 'utf8')) as Partial<Job>;
  } catch {
    // there is none yet, or it is damaged: either way this one takes its place
    return job;
  }
  const { annotations, tags } = said;
  return { ...job, tags: { ...job.tags, ...tags }, ...(annotations === undefined ? {} : { annotations }) };
}

/** The first name of `name`, `name-2`, `name-3`… that is not taken. */
export function freeName(parent: string, name: string): string {
  for (let n = 1; ; n++) {
    const candidate = path.join(parent, n === 1 ? name : `${name}-${n}`);
    if (!fs.existsSync(candidate)) return candidate;
  }
}

/** Takes back a recording that has come to nothing: what Tacho made, and the folder if nothing else is in it. */
export function discardRecording(recording: string): void {
  for (const name of fs.readdirSync(recording)) {
    if (name === 'job.json' || nodeName(name) !== undefined) fs.rmSync(path.join(recording, name), { recursive: true });
  }
  if (fs.readdirSync(recording).length === 0) fs.rmdirSync(recording);
}
