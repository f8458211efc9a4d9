import * as fs from 'node:fs';
import * as path from 'node:path';
import { code, Fault, reason } from '../base/fault.ts';
import { makeFolder } from '../base/folder.ts';
import { isForeignLink, openNew } from '../base/plain-file.ts';
import { isArchive } from '../import/epmt/archive.ts';

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = fs.constants;

/**
 * Moves a recording below the folder that is watched into `place`, and says why in a text file beside it, if there is a
 * `why` for where it has gone. Users own what lies there, and may put links in the way at any moment: folders are entered
 * one by one and held. Returns where it went; undefined: somebody else who watches has moved it.
 */
export function moveInto(
  folder: string,
  watched: string,
  targetFolder: string,
  why?: (moved: string) => string,
): string | undefined {
  if (!fs.existsSync(folder)) return undefined;
  const open: number[] = [];
  const name = path.basename(path.resolve(folder));
  try {
    const from = enter(watched, path.relative(watched, path.dirname(path.resolve(folder))), open);
    const into = ownFolder(targetFolder, open);
    for (let n = 1; ; n++) {
      const as = name + (n === 1 ? '' : `-${n}`);
      const to = path.join(into, as);
      if (fs.lstatSync(to, { throwIfNoEntry: false }) !== undefined) continue;
      const stat = fs.lstatSync(path.join(from, name));
      if (isArchive(name) ? !stat.isFile() : !stat.isDirectory()) throw new Error('it is not what it was any more');
      fs.renameSync(path.join(from, name), to);
      const moved = path.join(targetFolder, as);
      if (why !== undefined) write(`${to}.reason.txt`, why(moved));
      return moved;
    }
  } catch (error) {
    if (!fs.existsSync(folder)) return undefined;
    throw new Fault(`cannot move ${folder} to ${targetFolder}: ${reason(error)}`, { cause: error });
  } finally {
    for (const fd of open) fs.closeSync(fd);
  }
}

/** The folder by descriptor (`/proc/self/fd/7`), reached from `start` through links of our own or root's at most. */
function enter(start: string, way: string, open: number[]): string {
  let at = hold(start, O_RDONLY | O_DIRECTORY, open);
  for (const name of way.split(path.sep).filter((each) => each !== '' && each !== '.')) {
    const next = path.join(at, name);
    // a link of root's or our own: only we could change it
    const follow = fs.lstatSync(next).isSymbolicLink() && !isForeignLink(next);
    at = hold(next, O_RDONLY | O_DIRECTORY | (follow ? 0 : O_NOFOLLOW), open);
  }
  return at;
}

function hold(folder: string, flags: number, open: number[]): string {
  let fd: number;
  try {
    fd = fs.openSync(folder, flags);
  } catch (error) {
    if (code(error) === 'ELOOP' || code(error) === 'ENOTDIR')
      throw new Error('a link that somebody made is in the way');
    throw error;
  }
  open.push(fd);
  return `/proc/self/fd/${fd}`;
}

/** Where recordings go must be our own or root's: whoever else owns it could have it lead anywhere. */
function ownFolder(targetFolder: string, open: number[]): string {
  makeFolder(path.dirname(path.resolve(targetFolder)), 0o700);
  if (fs.lstatSync(targetFolder, { throwIfNoEntry: false }) === undefined) makeFolder(targetFolder, 0o700);
  if (isForeignLink(targetFolder)) throw new Error(`somebody else has made a link of ${path.basename(targetFolder)}`);
  const held = hold(targetFolder, O_RDONLY | O_DIRECTORY, open);
  const { uid } = fs.statSync(held);
  if (uid === 0 || uid === process.geteuid!()) return held;
  throw new Error(`${path.basename(targetFolder)} belongs to user number ${uid}`);
}

function write(file: string, text: string): void {
  const fd = openNew(file, 0o666);
  try {
    fs.writeFileSync(fd, text);
  } finally {
    fs.closeSync(fd);
  }
}
