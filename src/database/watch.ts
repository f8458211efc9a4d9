import * as fs from 'node:fs';
import * as path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Fault } from '../base/fault.ts';
import { stated } from '../base/stated.ts';
import { isArchive } from '../import/epmt/archive.ts';
import { refreshJob } from '../jobs/schedulers/refresh.ts';
import type { RuleSettings } from '../judge/rules/shared/settings.ts';
import { isAlive } from '../recording/folder/alive.ts';
import { openRecording, type Recording, recordingFolders } from '../recording/folder/open.ts';
import { connect, type Database } from './connect.ts';
import { moveInto } from './move-aside.ts';
import { needSchema } from './schema.ts';
import { needJob, type Submitted } from './submit.ts';
import { submitArchive } from './submit-archive.ts';
import { submitFolder } from './submit-folder.ts';
import { isAway, isDatabaseTrouble } from './trouble.ts';

/** Where recordings go that the database refuses, below the folder that is watched. */
export const FAILED = 'failed';
/** Without a word about its end, a job has ended when nothing was written for so long. */
const ABANDONED = 3_600_000;
/** After trouble with the database: twice as long each time, up to this. */
const LONGEST_PAUSE = 60_000;

export interface WatchOptions {
  address: string;
  folder: string;
  /** Look once and end. */
  once?: boolean;
  /** Milliseconds between looks. */
  every: number;
  /** A recording is taken when nothing in it has changed for so many milliseconds: it may still be copied here. */
  settle: number;
  /** The rules as the configuration has them. */
  rules?: RuleSettings;
  /** Where stored recordings go; undefined: they stay. */
  done?: string;
  /** Only say what would be stored or refused. */
  dryRun?: boolean;
  signal?: AbortSignal;
  tell(event: WatchEvent): void;
}

export type WatchEvent =
  | { what: 'stored' | 'present'; path: string; moved?: string; id: string; submitted: Submitted }
  | { what: 'planned'; path: string; id: string; why?: string }
  /** Looked at once, and too new: it may still be copied here. */
  | { what: 'unsettled'; path: string; settle: number }
  | { what: 'failed'; path: string; moved: string; why: string }
  | { what: 'trouble'; why: string; hint: string | undefined; again: number }
  | { what: 'back' };

/** Submits what appears in a folder. Looks at it again and again: on network file systems nobody tells of changes. */
export async function watch(options: WatchOptions): Promise<void> {
  const { signal } = options;
  const faces = new Map<string, string>();
  // what is wrong from the beginning is for whoever started it; what goes wrong later passes
  let database: Database | undefined;
  let pause = 0;
  recordingFolders(options.folder);
  try {
    database = await opened(options.address);
  } catch (error) {
    if (options.once || !isAway(error)) throw error;
    pause = Math.max(options.every, 100);
    options.tell({ what: 'trouble', why: error.message, hint: error.hint, again: pause });
    await sleep(pause, undefined, signal === undefined ? {} : { signal }).catch(() => {});
  }
  try {
    while (!signal?.aborted) {
      try {
        const settled = changedIn(options, faces);
        for (const folder of settled) {
          if (signal?.aborted) break;
          try {
            if (!isArchive(folder) && !(await hasEnded(folder))) continue;
            database ??= await opened(options.address);
            if (pause > 0) options.tell({ what: 'back' });
            pause = 0;
            await submitOne(database, folder, options, faces);
          } catch (error) {
            // somebody else who watches may have moved it meanwhile
            if (isDatabaseTrouble(error) || fs.existsSync(folder)) throw error;
          }
        }
        if (options.once) {
          for (const path of changedIn({ ...options, settle: 0 }, faces))
            if (!settled.includes(path)) options.tell({ what: 'unsettled', path, settle: options.settle });
          return;
        }
      } catch (error) {
        if (!(error instanceof Fault) || options.once) throw error;
        if (isDatabaseTrouble(error)) {
          await database?.close();
          database = undefined;
        }
        pause = Math.min(LONGEST_PAUSE, Math.max(2 * pause, options.every, 100));
        const { message, hint } = error;
        options.tell({ what: 'trouble', why: message, hint, again: pause });
      }
      // a pause that is cut short is the end of the watch
      await sleep(Math.max(pause, options.every), undefined, signal === undefined ? {} : { signal }).catch(() => {});
    }
  } finally {
    await database?.close();
  }
}

const changedIn = (options: WatchOptions, faces: ReadonlyMap<string, string>): string[] => [
  ...changedArchives(options, faces),
  ...changedFolders(options, faces),
];

/** Archives of EPMT that nobody writes to any more, and that have not been submitted. */
const changedArchives = ({ folder, settle }: WatchOptions, faces: ReadonlyMap<string, string>): string[] =>
  fs
    .readdirSync(folder)
    .filter(isArchive)
    .map((name) => path.join(folder, name))
    .filter((file) => faces.get(file) !== faceOf(file))
    .filter((file) => {
      const stat = fs.lstatSync(file, { throwIfNoEntry: false });
      return stat?.isFile() === true && Date.now() - stat.mtimeMs >= settle;
    });

async function opened(address: string): Promise<Database> {
  const database = await connect(address);
  try {
    await needSchema(database);
    return database;
  } catch (error) {
    await database.close();
    throw error;
  }
}

/** Recordings in which nothing happens any more, and that have not been submitted as they are now. */
function changedFolders({ folder, done, settle }: WatchOptions, faces: ReadonlyMap<string, string>): string[] {
  const aside = [path.resolve(folder, FAILED), ...(done === undefined ? [] : [path.resolve(done)])];
  return recordingFolders(folder).filter((each) => {
    const resolved = path.resolve(each);
    if (aside.some((other) => resolved === other || resolved.startsWith(`${other}${path.sep}`))) return false;
    return faces.get(each) !== faceOf(each) && Date.now() - newestChange(each) >= settle;
  });
}

/** Changes with every word about the job: of recordings that have been stored nothing else need be looked at. */
function faceOf(folder: string): string {
  const times = [folder, path.join(folder, 'job.json')].map(
    (name) => fs.statSync(name, { throwIfNoEntry: false })?.mtimeMs,
  );
  return times.join(' ');
}

/** When anything in a recording was last changed, epoch milliseconds. */
function newestChange(folder: string): number {
  let newest = 0;
  const look = (name: string): void => {
    const stat = fs.statSync(name, { throwIfNoEntry: false });
    if (stat !== undefined && stat.mtimeMs > newest) newest = stat.mtimeMs;
  };
  look(folder);
  try {
    for (const entry of fs.readdirSync(folder, { withFileTypes: true })) {
      const inside = path.join(folder, entry.name);
      look(inside);
      if (!entry.isDirectory()) continue;
      for (const name of fs.readdirSync(inside)) look(path.join(inside, name));
    }
  } catch (error) {
    // somebody else who watches has moved it
    if (fs.existsSync(folder)) throw error;
  }
  return newest;
}

async function hasEnded(folder: string): Promise<boolean> {
  let recording: Recording;
  try {
    recording = openRecording(folder);
    needJob(recording);
  } catch (error) {
    // to be told of and moved aside
    if (error instanceof Fault) return true;
    throw error;
  }
  if (recording.nodes.some((node) => isAlive(node))) return false;
  const job = await refreshJob(recording);
  return (job.end !== undefined && job.state !== 'running') || Date.now() - newestChange(folder) > ABANDONED;
}

async function submitOne(
  database: Database,
  folder: string,
  options: WatchOptions,
  faces: Map<string, string>,
): Promise<void> {
  const submit = isArchive(folder) ? submitArchive : submitFolder;
  const result = await submit(database, folder, stated({ rules: options.rules, dryRun: options.dryRun }));
  if (options.dryRun === true) {
    faces.set(folder, faceOf(folder));
    const why = 'refused' in result ? result.refused.message : undefined;
    if (!('refused' in result) && result.submitted.outcome === 'present') return;
    options.tell({ what: 'planned', path: folder, id: result.id, ...stated({ why }) });
    return;
  }
  if ('refused' in result) {
    const { message, hint } = result.refused;
    const why = hint === undefined ? message : `${message}\n${hint}`;
    const moved = moveInto(
      folder,
      options.folder,
      path.join(options.folder, FAILED),
      (to) => `${new Date().toISOString()} ${why.replaceAll(folder, () => to)}\n`,
    );
    if (moved === undefined) return;
    options.tell({ what: 'failed', path: folder, moved, why: message });
    return;
  }
  const { submitted, id } = result;
  faces.set(folder, faceOf(folder));
  const moved = options.done === undefined ? undefined : moveInto(folder, options.folder, options.done);
  options.tell({
    what: submitted.outcome === 'present' ? 'present' : 'stored',
    path: folder,
    ...stated({ moved }),
    id,
    submitted,
  });
}
