import * as fs from 'node:fs';
import * as path from 'node:path';
import { Fault, reason } from '../../base/fault.ts';
import { stated } from '../../base/stated.ts';
import { isAlive, STILL_WRITTEN_MS } from './alive.ts';
import { foldersBelow, openRecording, type Recording } from './open.ts';
import { silentEnd } from './silent-end.ts';

/**
 * running: an agent writes. ended: nobody writes any more. sealed: ended, and small. damaged: something cannot be
 * opened, or was left by something that was interrupted; `tacho verify` says more. newer version: sound, but not for us.
 */
export type RecordingState = 'running' | 'ended' | 'sealed' | 'damaged' | 'newer version';

export interface Listed {
  path: string;
  job: string;
  /** How often the scheduler had started it before. */
  restart?: number;
  name: string;
  user: string;
  /** Epoch microseconds; missing when nobody knows. */
  start?: number;
  end?: number;
  nodes: number;
  /** Their names, where somebody asked for them. */
  hosts?: readonly string[];
  /** Missing when it is no folder but a job in a store. */
  bytes?: number;
  state: RecordingState;
  /** How the job ended, as its report says. */
  job_state: string;
  /** Why it is damaged. */
  trouble?: string;
  /** Only its first word when the recording is redacted. */
  command?: readonly string[];
  tags?: Readonly<Record<string, string>>;
  annotations?: Readonly<Record<string, string>>;
  /** Ids of what its report finds, where that is known. */
  findings?: readonly string[];
}

/** A folder that holds a recording, and what is in it. */
export interface RecordingFolder {
  folder: string;
  names: string[];
}

/** Where recordings are: each once, as they are found. `failed` is told of a folder that cannot be looked into. */
export function* foldersOfRecordings(
  folders: readonly string[],
  failed?: (why: Fault) => void,
  closed?: (folder: string) => void,
): Generator<RecordingFolder> {
  const listedKeys = new Set<string>();
  for (const start of folders) {
    try {
      for (const each of foldersBelow(start, undefined, closed)) {
        const key = path.resolve(each.folder);
        if (listedKeys.has(key)) continue;
        listedKeys.add(key);
        yield each;
      }
    } catch (error) {
      if (failed === undefined || !(error instanceof Fault)) throw error;
      failed(error);
    }
  }
}

/** Plain data in and out: another thread may do it. */
export const describeAll = ({ folders, now }: { folders: readonly RecordingFolder[]; now: number }): Listed[] =>
  folders.map(({ folder, names }) => describe(folder, names, now));

export const byTime = (listed: Listed[]): Listed[] =>
  listed.sort((a, b) => (a.start ?? 0) - (b.start ?? 0) || (a.path < b.path ? -1 : 1));

function describe(folder: string, names: string[], now: number): Listed {
  let recording: Recording;
  try {
    recording = openRecording(folder, names);
  } catch (error) {
    const why = error instanceof Fault ? error.message : `cannot open ${folder}: ${reason(error)}`;
    const name = path.basename(path.resolve(folder));
    const { bytes } = folderBytes(folder, names);
    return {
      path: folder,
      job: name,
      name: '',
      user: '',
      nodes: 0,
      bytes,
      state: why.includes('written by a newer Tacho') ? 'newer version' : 'damaged',
      job_state: 'unknown',
      trouble: why,
    };
  }
  const { nodes } = recording;
  // as the report says it, unless a scheduler has more to say
  const job = (recording.job.end === undefined ? silentEnd(recording, now) : undefined) ?? recording.job;
  const listed = new Map(nodes.map((node) => [path.basename(node.folder), node.names]));
  const { bytes, temporary } = folderBytes(folder, names, listed);
  const alive = nodes.some((node) => isAlive(node, now));
  const interrupted = temporary > 0 && now / 1e3 - temporary > STILL_WRITTEN_MS && !alive;
  const trouble = recording.troubles[0] ?? (interrupted ? 'something was interrupted here' : undefined);
  const tables = nodes.flatMap((node) => [...node.tables.values()]);
  const sealed = tables.length > 0 && tables.every(({ parts }) => parts.length === 0);
  const state = alive ? 'running' : trouble !== undefined ? 'damaged' : sealed ? 'sealed' : 'ended';
  const { end } = job;
  return {
    path: folder,
    job: job.id,
    ...(job.restart ? { restart: job.restart } : {}),
    name: job.name,
    user: job.user,
    ...(Number.isFinite(job.start) ? { start: job.start } : {}),
    ...stated({ end }),
    nodes: nodes.length,
    bytes,
    state,
    job_state: job.state,
    ...stated({ trouble, command: job.command }),
    ...(Object.keys(job.tags).length === 0 ? {} : { tags: job.tags }),
    ...(Object.keys(job.annotations ?? {}).length === 0 ? {} : stated({ annotations: job.annotations })),
  };
}

/**
 * `temporary`: when something under a temporary name was last written, in epoch milliseconds; 0: there is nothing. `listed`:
 * what is in folders below it, where that is known.
 */
function folderBytes(
  folder: string,
  names: readonly string[] = namesIn(folder),
  listed?: ReadonlyMap<string, readonly string[] | undefined>,
): { bytes: number; temporary: number } {
  let bytes = 0;
  let temporary = 0;
  for (const name of names) {
    const file = `${folder}/${name}`;
    const stat = fs.lstatSync(file, { throwIfNoEntry: false });
    if (stat?.isDirectory()) {
      const below = folderBytes(file, listed?.get(name));
      bytes += below.bytes;
      temporary = Math.max(temporary, below.temporary);
    } else if (stat !== undefined) {
      bytes += stat.size;
      if (name.endsWith('.tmp')) temporary = Math.max(temporary, stat.mtimeMs);
    }
  }
  return { bytes, temporary };
}

function namesIn(folder: string): string[] {
  try {
    return fs.readdirSync(folder);
  } catch (error) {
    throw new Fault(`cannot open ${folder}: ${reason(error)}`, { cause: error });
  }
}
