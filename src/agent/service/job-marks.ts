import * as fs from 'node:fs';
import * as path from 'node:path';
import { splitLine } from '../../base/csv.ts';
import { type Mark, writeMarks } from '../../control/mark.ts';
import { OWN_USE, ownUse } from '../../control/own-use.ts';
import type { Job } from '../../recording/folder/job.ts';
import { nodeFolder } from '../../recording/folder/node-folder.ts';
import { openRecording } from '../../recording/folder/open.ts';
import { replaceJson } from '../../recording/folder/replace.ts';
import { openOwned } from '../../recording/live/owned-file.ts';
import { markersOf } from '../../recording/read/markers.ts';
import { markerTable } from '../../sources/own/marker.ts';
import { header, type NameIn } from '../../table/table.ts';
import { makeMarksFolder, marksFolder, removeMarksFolder, shownName } from './marks-folder.ts';
import type { UserFolders } from './user-folders.ts';

/** Bytes that are read at a time: one second's worth for any job that has phases. */
const TURN_BYTES = 64 << 10;
/** Whoever writes more than this has no phases, but a log. */
const MOST_MARKS = 10_000;
const MOST_NOTES = 1 << 20;
const LARGEST_JOB = 256 << 10;
const MOST_WORDS = 1000;
const LONGEST_WORD = 4096;
/** A mark from another time than the job's would stretch it. */
const SLACK_US = 60e6;

export interface MarksOptions {
  /** The name of the place, in a folder of ours; and where its user finds it. */
  name: string;
  users: UserFolders;
  job: Job;
  recording: string;
  node: string;
  /** Epoch microseconds. */
  now(): number;
  /** A phase has begun or ended. */
  phase?(): void;
  /** By how much the clock of those who mark is ahead of this one. */
  ahead?(): number;
}

/** Makes the place, or goes on with the one that is there. Throws when it cannot be made. */
export function jobMarks(options: MarksOptions): JobMarks {
  const { job, name, users } = options;
  const there = marksFolder(name);
  // an agent that was killed has left it, for this run of the id or for another one
  const left = there !== undefined && isOf(there, job) ? there : undefined;
  const marksPath = left ?? makeMarksFolder(name, job.uid, (folder) => fill(folder, options));
  users.show(job.uid, shownName(name), (link) => fs.symlinkSync(marksPath, link));
  return new JobMarks(marksPath, options);
}

/** What a job left for an agent that was killed; undefined: nothing, or it is another run's. */
export function abandonedMarks(options: MarksOptions): JobMarks | undefined {
  const there = marksFolder(options.name);
  return there !== undefined && isOf(there, options.job) ? new JobMarks(there, options) : undefined;
}

function isOf(folder: string, job: Job): boolean {
  return fs.lstatSync(folder).uid === job.uid && startOf(path.join(folder, 'job.json'), job.uid) === job.start;
}

/** Everything is in it before its user can come in: what commands ask for, and no more. */
function fill(folder: string, { job, node }: MarksOptions): void {
  const { per_node: _, steps: __, ...rest } = job;
  const nodePath = path.join(folder, nodeFolder(node));
  fs.mkdirSync(nodePath, { mode: 0o700 });
  replaceJson(path.join(folder, 'job.json'), { ...rest, nodes: [node], environment: {} });
  if (job.uid === process.getuid!()) return;
  for (const each of [path.join(folder, 'job.json'), nodePath]) fs.lchownSync(each, job.uid, -1);
}

/**
 * Where the programs of a job leave what they say of it. A user cannot write to the recording in a node's spool; this folder
 * is the user's own and looks like a recording, so that `tacho mark`, `fom`, `annotate` and `env` use it as any other
 * (src/control/active.ts finds it by the job's id). The agent takes over what is in it, a little at a time.
 */
export class JobMarks {
  /** Lines that were too many, or too long. */
  lost = 0;
  private readonly options: MarksOptions;
  /** Folders are kept open: whatever the user puts in their place leads nowhere, and nowhere that would block. */
  private readonly own: number;
  private readonly marked: number;
  private knownMarks: Set<string> | undefined;
  private taken = { inode: 0, bytes: 0 };
  private lastFace = '';
  private read = false;
  private closed = false;

  constructor(folder: string, options: MarksOptions) {
    this.options = options;
    this.own = openFolder(folder);
    this.marked = this.own < 0 ? -1 : openFolder(`/proc/self/fd/${this.own}/${nodeFolder(options.node)}`);
  }

  /** Brings some marks that are new into the recording; true: there are more. */
  takeMarks(): boolean {
    const { recording, node, phase } = this.options;
    const file = this.readFile(this.marked, `${markerTable.name}.csv`, TURN_BYTES, ({ ino, size }) => {
      // another file, or a shorter one: it was written anew
      if (ino !== this.taken.inode || size < this.taken.bytes) this.taken = { inode: ino, bytes: 0 };
      return this.taken.bytes;
    });
    if (file === undefined || file.length === 0) return false;
    // what has no end yet is being written
    const end = file.lastIndexOf(10) + 1;
    const full = file.length === TURN_BYTES;
    if (end === 0 && full) this.lost++;
    this.taken.bytes += end === 0 && full ? file.length : end;
    if (end > 0) {
      this.knownMarks ??= new Set(marksIn(recording, node));
      const marks = this.newMarks(this.knownMarks, file.toString('utf8', 0, end).split('\n'));
      if (marks.length > 0) writeMarks(recording, { SLURMD_NODENAME: node }, marks);
      if (marks.some(({ action }) => action !== 'fom')) phase?.();
    }
    return full;
  }

  /** Those of the lines that can be used, and are new. */
  private newMarks(knownMarks: Set<string>, lines: string[]): Timed[] {
    const { job, now, ahead } = this.options;
    const newOnes: Timed[] = [];
    for (const line of lines) {
      const mark = parseMark(line);
      if (mark === undefined) continue;
      mark.time -= ahead?.() ?? 0;
      if (knownMarks.has(keyOf(mark))) continue;
      if (mark.time < job.start - SLACK_US || mark.time > now() + SLACK_US) continue;
      if (knownMarks.size >= MOST_MARKS) {
        this.lost++;
        continue;
      }
      knownMarks.add(keyOf(mark));
      newOnes.push(mark);
    }
    return newOnes;
  }

  /** Annotations and tags, when they have changed. */
  takeWords(): Pick<Job, 'annotations' | 'tags'> | undefined {
    let changed = false;
    const bytes = this.readFile(this.own, 'job.json', LARGEST_JOB, ({ ino, size, mtimeMs }) => {
      const face = `${ino} ${size} ${mtimeMs}`;
      changed = face !== this.lastFace && size <= LARGEST_JOB;
      this.lastFace = face;
      return 0;
    });
    if (bytes === undefined || !changed) return undefined;
    const first = !this.read;
    this.read = true;
    try {
      const { annotations, tags } = JSON.parse(bytes.toString('utf8')) as Partial<Job>;
      const annotationTexts = textFields(annotations);
      const isSilent = Object.keys(annotationTexts).length === 0;
      if (first && isSilent) return undefined;
      return { ...(isSilent ? {} : { annotations: annotationTexts }), tags: textFields(tags) };
    } catch {
      return undefined;
    }
  }

  /** What Tacho's own commands have used in the job, on this node. */
  ownUse(): Job['own_use'] {
    const notes = this.readFile(this.own, OWN_USE, MOST_NOTES);
    return notes === undefined ? undefined : ownUse(notes.toString('utf8'), [this.options.node]);
  }

  private readFile(folder: number, name: string, most: number, from?: (stat: fs.Stats) => number): Buffer | undefined {
    if (folder < 0 || this.closed) return undefined;
    return readOwned(`/proc/self/fd/${folder}/${name}`, this.options.job.uid, most, from);
  }

  /** Nothing is taken any more; the place stays for the next agent. */
  close(): void {
    if (this.closed) return;
    this.closed = true;
    for (const fd of [this.own, this.marked]) if (fd >= 0) fs.closeSync(fd);
  }

  /** The job has ended: there is nothing to say any more. */
  remove(): Promise<void> {
    const { users, name } = this.options;
    this.close();
    users.hide(shownName(name));
    return removeMarksFolder(name);
  }
}

/** -1: it is not there, or no folder. */
function openFolder(folder: string): number {
  try {
    return fs.openSync(folder, fs.constants.O_RDONLY | fs.constants.O_DIRECTORY | fs.constants.O_NOFOLLOW);
  } catch {
    return -1;
  }
}

function startOf(file: string, uid: number): number | undefined {
  try {
    return (JSON.parse(readOwned(file, uid, LARGEST_JOB)!.toString('utf8')) as Job).start;
  } catch {
    return undefined;
  }
}

/**
 * An ordinary file of this user: through links nobody gets at what belongs to somebody else. Undefined: there is none.
 * `from` says where to begin.
 */
function readOwned(
  file: string,
  uid: number,
  most: number,
  from: (stat: fs.Stats) => number = () => 0,
): Buffer | undefined {
  let fd = -1;
  try {
    fd = openOwned(file, uid);
    const stat = fs.fstatSync(fd);
    const begin = from(stat);
    const bytes = Buffer.alloc(Math.max(0, Math.min(stat.size - begin, most)));
    return bytes.subarray(0, fs.readSync(fd, bytes, 0, bytes.length, begin));
  } catch {
    return undefined;
  } finally {
    if (fd >= 0) fs.closeSync(fd);
  }
}

type Timed = Mark & { time: number };

const COLUMNS = header(markerTable) as ('time' | NameIn<typeof markerTable>)[];

function parseMark(line: string): Timed | undefined {
  const cells = splitLine(line);
  const cell = (name: (typeof COLUMNS)[number]): string => cells[COLUMNS.indexOf(name)] ?? '';
  const [time, action, name, value, pid] = [cell('time'), cell('action'), cell('name'), cell('value'), cell('pid')];
  if (!/^\d{15,17}$/.test(time) || (action !== 'begin' && action !== 'end' && action !== 'fom')) return undefined;
  if (name === '' || name.length > LONGEST_WORD || pid.length > LONGEST_WORD) return undefined;
  const mark: Timed = { time: Number(time), action, name, ...(pid === '' ? {} : { pid }) };
  if (value === '') return mark;
  return Number.isFinite(Number(value)) ? { ...mark, value: Number(value) } : undefined;
}

const keyOf = ({ time, action, name, value, pid }: Timed): string =>
  JSON.stringify([time, action, name, value ?? null, pid ?? null]);

/** What an agent before this one has taken over already. */
function marksIn(recording: string, node: string): string[] {
  const own = openRecording(recording).nodes.find(({ name }) => name === node);
  if (own === undefined) return [];
  return markersOf(own).map(({ node: _, value, ...mark }) =>
    keyOf(value === undefined ? mark : { ...mark, value: Number(value) }),
  );
}

function textFields(given: unknown): Record<string, string> {
  if (typeof given !== 'object' || given === null) return {};
  const short = (text: unknown): boolean => typeof text === 'string' && text.length <= LONGEST_WORD;
  return Object.fromEntries(
    Object.entries(given)
      .filter(([key, value]) => short(key) && short(value))
      .slice(0, MOST_WORDS),
  );
}
