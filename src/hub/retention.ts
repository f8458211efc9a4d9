import { randomUUID } from 'node:crypto';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { code } from '../base/fault.ts';
import type { Place, Places } from './place.ts';
import type { Kept } from './sweep.ts';

export interface Bounds {
  /** Seconds. */
  age?: number;
  bytes?: number;
}

export interface Old {
  kept: Kept;
  why: string;
}

/**
 * Which recordings go: those that ended too long ago, then, while the archive is too large, those that ended first.
 * `live` ones stay, whatever is full.
 */
export function tooOld(all: readonly Kept[], bounds: Bounds, now: number, live: (kept: Kept) => boolean): Old[] {
  const ended = all.filter((kept) => !live(kept)).sort((a, b) => a.changed - b.changed);
  let bytes = all.reduce((sum, kept) => sum + kept.bytes, 0);
  const gone: Old[] = [];
  for (const kept of ended) {
    const why =
      bounds.age !== undefined && now - kept.changed > bounds.age * 1000
        ? 'it is older than is kept'
        : bounds.bytes !== undefined && bytes > bounds.bytes
          ? 'the archive is larger than allowed'
          : undefined;
    if (why === undefined) continue;
    gone.push({ kept, why });
    bytes -= kept.bytes;
  }
  return gone;
}

/** So long it may remove before others get their turn, and so long they get it. */
const TURN_MS = 4;
const PAUSE_MS = 8;

/**
 * Removes a recording with its owner's rights, a few files at a time: a user may have put a million there. False: it was
 * `stopped` before all of it was gone.
 */
export async function removeRecording(places: Places, place: Place, stopped: () => boolean): Promise<boolean> {
  const above: Place = { way: place.way.slice(0, -1), owner: place.owner };
  const name = place.way.at(-1)!;
  for (;;) {
    const done = places.in(above, false, (folder) => {
      const until = performance.now() + TURN_MS;
      return removeSome(folder, name, () => performance.now() > until);
    });
    if (done !== false) return true;
    if (stopped()) return false;
    await pause(PAUSE_MS);
  }
}

/** True: all of the recording is gone. job.json goes last: one that is gone by half still says what it was. */
function removeSome(parent: string, name: string, isLate: () => boolean): boolean {
  const isEmpty = inFolder(parent, name, (top) => {
    let isRest = true;
    for (const entry of entriesOf(top)) {
      if (isLate()) return false;
      if (!entry.isDirectory() && entry.name.startsWith('job.json')) continue;
      isRest = false;
      if (!entry.isDirectory()) fs.unlinkSync(path.join(top, entry.name));
      else if (!clear(top, entry.name, isLate)) return false;
    }
    if (isRest) for (const entry of entriesOf(top)) fs.unlinkSync(path.join(top, entry.name));
    return isRest;
  });
  return isEmpty && removeFolder(parent, name);
}

/** Removes a folder of the recording. Folders in it come out of it first: however deep they lie, no way gets longer. */
function clear(top: string, name: string, isLate: () => boolean): boolean {
  const isEmpty = inFolder(top, name, (folder) => {
    for (const entry of entriesOf(folder)) {
      if (isLate()) return false;
      const file = path.join(folder, entry.name);
      if (!entry.isDirectory()) fs.unlinkSync(file);
      else {
        // one that its owner has closed cannot be moved
        inFolder(folder, entry.name, () => true);
        fs.renameSync(file, path.join(top, `.gone-${randomUUID()}`));
      }
    }
    return true;
  });
  return isEmpty && removeFolder(top, name);
}

function removeFolder(parent: string, name: string): true {
  fs.rmdirSync(path.join(parent, name));
  return true;
}

/** Does `work` with the folder's path by descriptor: what is put in its place meanwhile is not entered. */
function inFolder(parent: string, name: string, work: (folder: string) => boolean): boolean {
  const file = path.join(parent, name);
  const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = fs.constants;
  const open = (): number => fs.openSync(file, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  let fd: number;
  try {
    fd = open();
  } catch (error) {
    if (code(error) !== 'EACCES') throw error;
    // its owner has closed it
    fs.chmodSync(file, 0o700);
    fd = open();
  }
  try {
    if ((fs.fstatSync(fd).mode & 0o700) !== 0o700) fs.fchmodSync(fd, 0o700);
    return work(`/proc/self/fd/${fd}`);
  } finally {
    fs.closeSync(fd);
  }
}

function* entriesOf(folder: string): Generator<fs.Dirent> {
  const opened = fs.opendirSync(folder);
  try {
    for (let entry = opened.readSync(); entry !== null; entry = opened.readSync()) yield entry;
  } finally {
    opened.closeSync();
  }
}
