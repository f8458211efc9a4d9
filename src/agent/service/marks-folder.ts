import { randomBytes } from 'node:crypto';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { isWritable, makeFolder, namesIn } from '../../base/folder.ts';
import { removeForeign } from './remove-foreign.ts';
import type { UserFolders } from './user-folders.ts';

/**
 * A folder of a job's user, by the job's name in a folder of ours. What users write there must not fill the file system
 * that job files come in by (/run): the folder lies in /dev/shm, where users can write anyway and pay for it with their
 * job's memory, and its name is a link. Where what is above the folder of names is a file system of its own, it lies there.
 * Everybody can ask who owns a folder: this one has a name that nobody can guess, in one of ours that nobody can list.
 */
const PLACES = '/dev/shm';
const AROUND = /^tacho-marks-[\da-f]+$/;
/** Beside the folder: whose name it has. Without it nobody finds it any more. */
const NAME = 'name';

/** The folder that a name leads to; undefined: there is none. */
export function marksFolder(name: string): string | undefined {
  try {
    const target = fs.readlinkSync(name);
    return isOwn(target, name) && fs.lstatSync(target).isDirectory() ? target : undefined;
  } catch {
    return undefined;
  }
}

function isOwn(target: string, name: string): boolean {
  const around = path.dirname(target);
  return AROUND.test(path.basename(around)) && [PLACES, above(name)].includes(path.dirname(around));
}

const above = (name: string): string => path.dirname(path.dirname(path.resolve(name)));

/** Makes a folder for a name, as `fill` wants it, then gives it to its user. What was there by this name goes. */
export function makeMarksFolder(name: string, uid: number, fill: (folder: string) => void): string {
  makeFolder(above(name), 0o711);
  fs.chmodSync(above(name), 0o711);
  makeFolder(path.dirname(name), 0o700);
  const parentFolder = !isOwnFileSystem(above(name)) && isWritable(PLACES) ? PLACES : above(name);
  const around = path.join(parentFolder, `tacho-marks-${randomBytes(8).toString('hex')}`);
  const old = fs.lstatSync(name, { throwIfNoEntry: false });
  const before = old === undefined ? undefined : `${name}.${randomBytes(4).toString('hex')}.old`;
  if (before !== undefined) fs.renameSync(name, before);
  fs.mkdirSync(around, { mode: 0o711 });
  fs.chmodSync(around, 0o711);
  fs.writeFileSync(path.join(around, NAME), path.resolve(name), { mode: 0o600 });
  const folder = path.join(around, `marks-${randomBytes(8).toString('hex')}`);
  fs.mkdirSync(folder, { mode: 0o700 });
  fill(folder);
  if (uid !== process.getuid!()) fs.lchownSync(folder, uid, -1);
  fs.symlinkSync(folder, name);
  if (before !== undefined) void removeMarksFolder(before).catch(() => {});
  return folder;
}

/** Removes what a name leads to, and the name. */
export async function removeMarksFolder(name: string): Promise<void> {
  const stat = fs.lstatSync(name, { throwIfNoEntry: false });
  if (stat === undefined) return;
  if (stat.isSymbolicLink()) {
    const target = fs.readlinkSync(name);
    fs.unlinkSync(name);
    if (isOwn(target, name)) await removeAround(path.dirname(target));
  } else await removeForeign(name);
}

async function removeAround(around: string): Promise<void> {
  for (const each of namesIn(around)) if (each !== NAME) await removeForeign(path.join(around, each));
  fs.rmSync(path.join(around, NAME), { force: true });
  fs.rmdirSync(around);
}

/** Removes all places but those that are wanted, and those that an agent which was killed has left without a name. One that cannot be removed keeps no other. */
export async function tidyMarksFolders(
  parent: string,
  users: UserFolders,
  isWanted: (name: string) => boolean,
  failed: (name: string, error: unknown) => void,
): Promise<void> {
  const attempt = async (name: string, work: Promise<void>): Promise<void> =>
    work.catch((error) => failed(name, error));
  for (const name of namesIn(parent)) {
    if (isWanted(name)) continue;
    users.hide(shownName(name));
    await attempt(name, removeMarksFolder(path.join(parent, name)));
  }
  for (const parentFolder of [PLACES, path.dirname(path.resolve(parent))]) {
    for (const name of namesIn(parentFolder)) {
      const around = path.join(parentFolder, name);
      if (AROUND.test(name) && isNameless(around)) await attempt(around, removeAround(around));
    }
  }
}

/** What a user's jobs find it by. */
export const shownName = (name: string): string => `${path.basename(name)}.marks`;

function isNameless(around: string): boolean {
  try {
    if (fs.lstatSync(around).uid !== process.getuid!()) return false;
    const markedFolder = marksFolder(fs.readFileSync(path.join(around, NAME), 'utf8'));
    return markedFolder === undefined || path.dirname(markedFolder) !== around;
  } catch {
    // somebody else's, or just being made
    return false;
  }
}

function isOwnFileSystem(folder: string): boolean {
  return fs.statSync(folder).dev !== fs.statSync(path.dirname(path.resolve(folder))).dev;
}
