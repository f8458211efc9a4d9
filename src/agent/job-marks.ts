import * as fs from 'node:fs';
import * as path from 'node:path';
import { code } from '../base/fault.ts';
import { makeFolder } from '../base/folder.ts';
import { type Mark, writeMarks } from '../jobs/mark.ts';
import { OWN_USE, ownUse } from '../jobs/own-use.ts';
import { splitLine } from '../recording/csv-read.ts';
import type { Job } from '../recording/job.ts';
import { nodeFolder } from '../recording/node-folder.ts';
import { openRecording } from '../recording/open.ts';
import { readTable } from '../recording/read.ts';
import { replaceJson } from '../recording/replace.ts';

/**
 * Where the programs of a job leave what they say of it. A user cannot write to the recording in a node's spool; this folder
 * is the user's own and looks like a recording, so that `tacho mark`, `fom`, `annotate` and `env` use it as any other
 * (src/jobs/active.ts finds it by the job's id). The agent takes over what is in it.
 */
export interface JobMarks {
  /** Brings marks that are new into the recording. Never throws. */
  takeMarks(): void;
  /** Annotations and tags, when they have changed. */
  takeWords(): Pick<Job, 'annotations' | 'tags'> | undefined;
  /** What Tacho's own commands have used in the job, on this node. */
  ownUse(): Job['own_use'];
  /** The job has ended: there is nothing to say any more. */
  remove(): void;
}

/** Whoever writes more than this has no phases, but a log. */
const MOST_BYTES = 4 << 20;
const LARGEST_JOB = 1 << 20;
const MOST_WORDS = 1000;
const LONGEST_WORD = 4096;
/** A mark from another time than the job's would stretch it. */
const SLACK_US = 60e6;

/** Makes the place, or goes on with the one that is there. Throws when it cannot be made. */
export function jobMarks(folder: string, job: Job, recording: string, node: string, now: () => number): JobMarks {
  const jobFile = path.join(folder, 'job.json');
  const markFile = path.join(folder, nodeFolder(node), 'marker.csv');
  make(folder, job, node);
  let known: Set<string> | undefined;
  let taken = 0;
  let seen = '';

  return {
    takeMarks() {
      const text = readOwned(markFile, job.uid, MOST_BYTES)?.toString('utf8');
      if (text === undefined || text.length === taken) return;
      known ??= new Set(marksIn(recording, node));
      // what has no end yet is being written
      for (const line of text
        .slice(0, text.lastIndexOf('\n') + 1)
        .split('\n')
        .slice(1)) {
        const mark = parseMark(line);
        if (mark === undefined || known.has(keyOf(mark))) continue;
        if (mark.time < job.start - SLACK_US || mark.time > now() + SLACK_US) continue;
        known.add(keyOf(mark));
        const { time, ...rest } = mark;
        writeMarks(recording, { SLURMD_NODENAME: node }, [rest], time);
      }
      taken = text.length;
    },
    takeWords() {
      const text = readOwned(jobFile, job.uid, LARGEST_JOB)?.toString('utf8');
      if (text === undefined || text === seen) return undefined;
      const first = seen === '';
      seen = text;
      try {
        const { annotations, tags } = JSON.parse(text) as Partial<Job>;
        const said = words(annotations);
        if (first && Object.keys(said).length === 0) return undefined;
        return { ...(Object.keys(said).length === 0 ? {} : { annotations: said }), tags: words(tags) };
      } catch {
        return undefined;
      }
    },
    ownUse() {
      const notes = readOwned(path.join(folder, OWN_USE), job.uid, MOST_BYTES)?.toString('utf8');
      return notes === undefined ? undefined : ownUse(notes, [node]);
    },
    remove: () => removeOwned(folder),
  };
}

/** What a job left for an agent that was killed; undefined: nothing, or it is another run's. */
export function leftMarks(folder: string, job: Job, recording: string, node: string, now: () => number) {
  if (startOf(path.join(folder, 'job.json'), job.uid) !== job.start) return undefined;
  return jobMarks(folder, job, recording, node, now);
}

/** Removes the places of all jobs but these. */
export function tidyMarks(parent: string, names: readonly string[]): void {
  if (!fs.existsSync(parent)) return;
  for (const name of fs.readdirSync(parent)) if (!names.includes(name)) removeOwned(path.join(parent, name));
}

/** Everything is in it before its user can come in. */
function make(folder: string, job: Job, node: string): void {
  const parent = path.dirname(folder);
  makeFolder(parent, 0o711);
  fs.chmodSync(parent, 0o711);
  const there = fs.lstatSync(folder, { throwIfNoEntry: false });
  // an agent that was killed has left it, for this run of the id or for another one
  if (there?.uid === job.uid && startOf(path.join(folder, 'job.json'), job.uid) === job.start) return;
  removeOwned(folder);
  const nodePath = path.join(folder, nodeFolder(node));
  fs.mkdirSync(folder, { mode: 0o700 });
  fs.mkdirSync(nodePath, { mode: 0o700 });
  replaceJson(path.join(folder, 'job.json'), job);
  if (job.uid === process.getuid!()) return;
  for (const each of [path.join(folder, 'job.json'), nodePath, folder]) fs.lchownSync(each, job.uid, -1);
}

function startOf(file: string, uid: number): number | undefined {
  try {
    return (JSON.parse(readOwned(file, uid, LARGEST_JOB)!.toString('utf8')) as Job).start;
  } catch {
    return undefined;
  }
}

/** An ordinary file of this user: through links nobody gets at what belongs to somebody else. Undefined: there is none. */
function readOwned(file: string, uid: number, most: number): Buffer | undefined {
  let fd: number;
  try {
    fd = fs.openSync(file, fs.constants.O_RDONLY | fs.constants.O_NOFOLLOW | fs.constants.O_NONBLOCK);
  } catch {
    return undefined;
  }
  try {
    const stat = fs.fstatSync(fd);
    if (!stat.isFile() || stat.uid !== uid) return undefined;
    const bytes = Buffer.alloc(Math.min(stat.size, most));
    return bytes.subarray(0, fs.readSync(fd, bytes, 0, bytes.length, 0));
  } catch {
    return undefined;
  } finally {
    fs.closeSync(fd);
  }
}

/** Folders become ours before we go in: then nobody puts a link into our way. */
function removeOwned(place: string): void {
  try {
    if (fs.lstatSync(place).isDirectory()) {
      if (process.getuid!() === 0) fs.lchownSync(place, 0, 0);
      fs.chmodSync(place, 0o700);
      for (const name of fs.readdirSync(place)) removeOwned(path.join(place, name));
      fs.rmdirSync(place);
    } else fs.unlinkSync(place);
  } catch (error) {
    if (code(error) !== 'ENOENT') throw error;
  }
}

type Timed = Mark & { time: number };

function parseMark(line: string): Timed | undefined {
  const [time, action, name = '', value = ''] = splitLine(line);
  if (!/^\d{15,17}$/.test(time ?? '') || (action !== 'begin' && action !== 'end' && action !== 'fom')) return undefined;
  if (name === '' || name.length > LONGEST_WORD) return undefined;
  const mark: Timed = { time: Number(time), action, name };
  if (value === '') return mark;
  return Number.isFinite(Number(value)) ? { ...mark, value: Number(value) } : undefined;
}

const keyOf = ({ time, action, name, value }: Timed): string => JSON.stringify([time, action, name, value ?? null]);

/** What an agent before this one has taken over already. */
function marksIn(recording: string, node: string): string[] {
  const found = openRecording(recording).nodes.find(({ name }) => name === node);
  if (found === undefined || !found.tables.has('marker')) return [];
  const { rows, time, texts, numbers } = readTable(found, 'marker');
  const cell = (column: string, row: number): string => {
    const cells = texts.get(column);
    return cells === undefined ? '' : cells.values[cells.codes[row]!]!;
  };
  return Array.from({ length: rows }, (_, row) => {
    const value = numbers.get('value')?.[row] ?? Number.NaN;
    const mark = { time: time[row]!, action: cell('action', row) as Mark['action'], name: cell('name', row) };
    return keyOf(Number.isNaN(value) ? mark : { ...mark, value });
  });
}

function words(given: unknown): Record<string, string> {
  if (typeof given !== 'object' || given === null) return {};
  const short = (text: unknown): boolean => typeof text === 'string' && text.length <= LONGEST_WORD;
  return Object.fromEntries(
    Object.entries(given)
      .filter(([key, value]) => short(key) && short(value))
      .slice(0, MOST_WORDS),
  );
}
