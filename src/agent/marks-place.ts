import { randomBytes } from 'node:crypto';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { code } from '../base/fault.ts';
import { makeFolder } from '../base/folder.ts';
import { removeForeign } from './remove-foreign.ts';

/**
 * A folder of a job's user, by the job's name in a folder of ours. What users write there must not fill the file system
 * that job files come in by (/run): the folder lies in /dev/shm, where users can write anyway and pay for it with their
 * job's memory, and its name is a link. Where the folder of names is a file system of its own, it lies there.
 */
const PLACES = '/dev/shm';
const OWN = /^\/dev\/shm\/tacho-marks-[\da-f]+\/marks$/;
/** Beside the folder: whose name it has. Without it nobody finds it any more. */
const NAME = 'name';

/** The folder that a name leads to; undefined: there is none. */
export function placeOf(name: string): string | undefined {
  try {
    const target = fs.readlinkSync(name);
    return OWN.test(target) && fs.lstatSync(target).isDirectory() ? target : undefined;
  } catch (error) {
    if (code(error) !== 'EINVAL') return undefined;
    return fs.lstatSync(name, { throwIfNoEntry: false })?.isDirectory() ? name : undefined;
  }
}

/** Makes a folder for a name, as `fill` wants it, then gives it to its user. What was there by this name goes. */
export function makePlace(name: string, uid: number, fill: (folder: string) => void): string {
  const parent = path.dirname(name);
  makeFolder(parent, 0o711);
  fs.chmodSync(parent, 0o711);
  const elsewhere = !isOwnFileSystem(parent) && isWritable(PLACES);
  const around = elsewhere ? path.join(PLACES, `tacho-marks-${randomBytes(8).toString('hex')}`) : parent;
  const old = fs.lstatSync(name, { throwIfNoEntry: false });
  const before = old === undefined ? undefined : `${name}.${randomBytes(4).toString('hex')}.old`;
  if (before !== undefined) fs.renameSync(name, before);
  if (elsewhere) {
    fs.mkdirSync(around, { mode: 0o711 });
    fs.chmodSync(around, 0o711);
    fs.writeFileSync(path.join(around, NAME), path.resolve(name), { mode: 0o600 });
  }
  const folder = elsewhere ? path.join(around, 'marks') : name;
  fs.mkdirSync(folder, { mode: 0o700 });
  fill(folder);
  if (uid !== process.getuid!()) fs.lchownSync(folder, uid, -1);
  if (elsewhere) fs.symlinkSync(folder, name);
  if (before !== undefined) void removePlace(before).catch(() => {});
  return folder;
}

/** Removes what a name leads to, and the name. */
export async function removePlace(name: string): Promise<void> {
  const stat = fs.lstatSync(name, { throwIfNoEntry: false });
  if (stat === undefined) return;
  if (stat.isSymbolicLink()) {
    const target = fs.readlinkSync(name);
    fs.unlinkSync(name);
    if (OWN.test(target)) await removeAround(path.dirname(target));
  } else await removeForeign(name);
}

async function removeAround(around: string): Promise<void> {
  await removeForeign(path.join(around, 'marks'));
  fs.rmSync(path.join(around, NAME), { force: true });
  fs.rmdirSync(around);
}

/** Removes all places but those that are wanted, and those that an agent which was killed has left without a name. One that cannot be removed keeps no other. */
export async function tidyPlaces(
  parent: string,
  isWanted: (name: string) => boolean,
  failed: (name: string, error: unknown) => void,
): Promise<void> {
  const attempt = async (name: string, work: Promise<void>): Promise<void> =>
    work.catch((error) => failed(name, error));
  for (const name of namesIn(parent)) {
    if (!isWanted(name)) await attempt(name, removePlace(path.join(parent, name)));
  }
  for (const name of namesIn(PLACES)) {
    const around = path.join(PLACES, name);
    if (/^tacho-marks-[\da-f]+$/.test(name) && isNameless(around)) await attempt(around, removeAround(around));
  }
}

function isNameless(around: string): boolean {
  try {
    if (fs.lstatSync(around).uid !== process.getuid!()) return false;
    const name = fs.readFileSync(path.join(around, NAME), 'utf8');
    return placeOf(name) !== path.join(around, 'marks');
  } catch {
    // somebody else's, or just being made
    return false;
  }
}

function isOwnFileSystem(folder: string): boolean {
  return fs.statSync(folder).dev !== fs.statSync(path.dirname(path.resolve(folder))).dev;
}

function isWritable(folder: string): boolean {
  try {
    fs.accessSync(folder, fs.constants.W_OK | fs.constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function namesIn(folder: string): string[] {
  try {
    return fs.readdirSync(folder);
  } catch {
    return [];
  }
}
