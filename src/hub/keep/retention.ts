import { randomUUID } from 'node:crypto';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { code } from '../../base/fault.ts';
import type { ArchiveFolders, ArchivePath } from '../receive/archive-folder.ts';
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

/** Number of a user's recordings that are remembered in one look; a user may have made millions of folders. */
const MOST_ENDED = 2_000;

/** What a user, or the fleet, has in the archive: how much it is, and what of it ended first. */
export class Holding {
  readonly isFleet: boolean;
  bytes = 0;
  private ended: Kept[] = [];

  constructor(isFleet: boolean) {
    this.isFleet = isFleet;
  }

  add(kept: Kept, isLive: boolean): void {
    this.bytes += kept.bytes;
    if (isLive) return;
    this.ended.push(kept);
    if (this.ended.length >= 2 * MOST_ENDED) this.ended = this.oldest();
  }

  /** Those that ended first. */
  oldest(): Kept[] {
    return this.ended.sort((a, b) => a.changed - b.changed).slice(0, MOST_ENDED);
  }
}

/** What somebody has besides what is too old. */
interface Rest {
  readonly isFleet: boolean;
  bytes: number;
  readonly ended: readonly Kept[];
}

/**
 * Which recordings go: those that ended too long ago; then, while the archive is too large, those that ended first of
 * whoever holds most, as long as it is more than their share. Whatever somebody puts there, live or not, takes nothing from the others' shares.
 */
export function tooOld(holdings: Iterable<Holding>, bounds: Bounds, now: number): Old[] {
  const gone: Old[] = [];
  const rest: Rest[] = [];
  for (const holding of holdings) {
    let { bytes } = holding;
    const ended = holding.oldest().filter((kept) => {
      if (bounds.age === undefined || now - kept.changed <= bounds.age * 1000) return true;
      gone.push({ kept, why: 'it is older than is kept' });
      bytes -= kept.bytes;
      return false;
    });
    rest.push({ isFleet: holding.isFleet, bytes, ended });
  }
  if (bounds.bytes !== undefined) {
    const shares = sharesOf(rest, bounds.bytes);
    let tooMuch = rest.reduce((sum, { bytes }) => sum + bytes, -bounds.bytes);
    const excess = ({ isFleet, bytes }: Rest): number => bytes - (isFleet ? shares.fleet : shares.user);
    for (const each of rest.sort((a, b) => excess(b) - excess(a))) {
      for (const kept of each.ended) {
        if (tooMuch <= 0 || excess(each) <= 0) break;
        gone.push({ kept, why: 'the archive is larger than allowed' });
        each.bytes -= kept.bytes;
        tooMuch -= kept.bytes;
      }
    }
  }
  return gone.sort((a, b) => a.kept.changed - b.kept.changed);
}

/** How much the fleet may have, at least half, and each user: what those leave who need less is shared by the others. */
function sharesOf(holdings: readonly Rest[], most: number): { fleet: number; user: number } {
  const sum = (each: readonly Rest[]): number => each.reduce((bytes, one) => bytes + one.bytes, 0);
  const users = holdings.filter(({ isFleet }) => !isFleet).sort((a, b) => a.bytes - b.bytes);
  const fleet = Math.max(most / 2, most - sum(users));
  let left = most - Math.min(fleet, sum(holdings) - sum(users));
  for (const [i, { bytes }] of users.entries()) {
    const user = left / (users.length - i);
    if (bytes > user) return { fleet, user };
    left -= bytes;
  }
  return { fleet, user: Number.POSITIVE_INFINITY };
}

/** How long it may remove before others get their turn, and how long their turn is. */
const TURN_MS = 4;
const PAUSE_MS = 8;

/**
 * Removes a recording with its owner's rights, a few files at a time: a user may have put a million there. False: it was
 * `stopped` before all of it was gone.
 */
export async function removeRecording(
  archiveFolders: ArchiveFolders,
  archivePath: ArchivePath,
  stopped: () => boolean,
): Promise<boolean> {
  const above: ArchivePath = { way: archivePath.way.slice(0, -1), owner: archivePath.owner };
  const name = archivePath.way.at(-1)!;
  for (;;) {
    const done = archiveFolders.in(above, false, (folder) => {
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
