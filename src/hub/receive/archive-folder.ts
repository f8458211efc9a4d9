import * as fs from 'node:fs';
import { code } from '../../base/fault.ts';
import { NotPlain, openPlain } from '../../base/plain-file.ts';
import { MOST_BYTES, readJson } from '../../recording/folder/record-file.ts';
import { packText } from '../../recording/sealed/pack-text.ts';
import { Unusable } from './names.ts';
import type { Owner, Owners } from './owner.ts';

const { O_RDONLY, O_WRONLY, O_CREAT, O_TRUNC, O_APPEND, O_DIRECTORY, O_NOFOLLOW } = fs.constants;

/** Records are written while agents wait. */
const RECORD_LEVEL = 3;
const LONG_RECORD = 512 << 10;

/** A folder in the archive: the names on the way to it, and whose it is from the first name on. */
export interface ArchivePath {
  readonly way: readonly string[];
  readonly owner: Owner | undefined;
}

/** What the system said no to, or what is in the way, and where. */
export class ArchiveFolderError extends Error {
  readonly archivePath: ArchivePath;
  readonly code: string;
  constructor(archivePath: ArchivePath, cause: Error & { code?: string }) {
    super(cause.message, { cause });
    this.archivePath = archivePath;
    this.code = cause.code ?? '';
  }
}

export const below = (archivePath: ArchivePath, name: string): ArchivePath => ({
  way: [...archivePath.way, name],
  owner: archivePath.owner,
});
export const archiveFolderKey = (archivePath: ArchivePath): string => archivePath.way.join('/');

/**
 * The archive's folders, reached from one to the next by descriptors: a link that somebody has put in the way, or puts
 * there meanwhile, is not followed. What belongs to a user is done with the user's rights.
 */
export class ArchiveFolders {
  readonly root: string;
  readonly owners: Owners;
  private readonly fd: number;

  constructor(root: string, owners: Owners) {
    this.root = root;
    this.owners = owners;
    this.fd = fs.openSync(root, O_RDONLY | O_DIRECTORY);
  }

  /**
   * Does `work` with the folder's path by descriptor (`/proc/self/fd/7`); undefined when it is not there and not `made`.
   * Throws a `ArchiveFolderError` when the system says no, or what lies there cannot be used.
   */
  in<T>(archivePath: ArchivePath, made: boolean, work: (folder: string) => T): T | undefined {
    try {
      return this.enterAll(archivePath, made, work);
    } catch (error) {
      const isPlaces = code(error) !== undefined || error instanceof Unusable;
      throw isPlaces && !(error instanceof ArchiveFolderError)
        ? new ArchiveFolderError(archivePath, error as Error)
        : error;
    }
  }

  private enterAll<T>(archivePath: ArchivePath, made: boolean, work: (folder: string) => T): T | undefined {
    const [first, ...rest] = archivePath.way;
    // the archive itself is the hub's: nobody else can put anything there
    let fd = enter(this.fd, first!, made, archivePath.owner);
    if (fd === undefined) return undefined;
    return this.owners.as(archivePath.owner, () => {
      try {
        for (const name of rest) {
          const next = enter(fd!, name, made);
          if (next === undefined) return undefined;
          fs.closeSync(fd!);
          fd = next;
        }
        return work(`/proc/self/fd/${fd}`);
      } finally {
        fs.closeSync(fd!);
      }
    });
  }

  close(): void {
    fs.closeSync(this.fd);
  }
}

function enter(parent: number, name: string, made: boolean, owner?: Owner): number | undefined {
  const path = `/proc/self/fd/${parent}/${name}`;
  let fd: number;
  try {
    fd = fs.openSync(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  } catch (error) {
    if (code(error) === 'ELOOP' || code(error) === 'ENOTDIR') throw new Unusable(`${name} is not a folder`);
    if (code(error) !== 'ENOENT') throw error;
    if (!made) return undefined;
    fs.mkdirSync(path, { mode: 0o700 });
    fd = fs.openSync(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  }
  if (owner === undefined) return fd;
  const { uid } = fs.fstatSync(fd);
  if (uid === owner.uid) return fd;
  // made a moment ago, by us or by a hub that was killed then
  if (uid === 0 && fs.readdirSync(`/proc/self/fd/${fd}`).length === 0) {
    fs.fchownSync(fd, owner.uid, owner.gid);
    return fd;
  }
  fs.closeSync(fd);
  throw new Unusable(`${name} belongs to user number ${uid}, not to ${owner.uid}`);
}

/** Opens an ordinary file; anything else of that name (a link, a pipe that would block) is refused. */
function openOrdinary(file: string, flags: number): number {
  try {
    return openPlain(file, flags);
  } catch (error) {
    if (error instanceof NotPlain) throw new Unusable(`${nameOf(file)} is not an ordinary file`);
    throw error;
  }
}

const nameOf = (file: string): string => file.slice(file.lastIndexOf('/') + 1);

export const openToAppend = (file: string): number => openOrdinary(file, O_WRONLY | O_APPEND | O_CREAT);
export const openToRead = (file: string): number => openOrdinary(file, O_RDONLY);
export const openToReplace = (file: string): number => openOrdinary(file, O_WRONLY | O_CREAT | O_TRUNC);

/** A JSON file, compressed if it is called so; undefined when there is none that can be used. */
export function readRecord<T>(file: string): T | undefined {
  try {
    const kind = /^(?:job|received)/.exec(nameOf(file))?.[0] as 'job' | 'received' | undefined;
    const value = readJson(file, MOST_BYTES[kind ?? 'agent']);
    return typeof value === 'object' && value !== null ? (value as T) : undefined;
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof NotPlain || code(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** For people, unless it is very long: then it is kept as small as it can be, so that it may be read again. */
function asText(value: unknown): string {
  const text = JSON.stringify(value);
  return `${text.length > LONG_RECORD ? text : JSON.stringify(value, null, 1)}\n`;
}

/** Writes a JSON file so that a reader sees the old one or the new one. One hub, one name: nothing piles up. */
export function replaceRecord(file: string, value: unknown): void {
  const temporary = `${file}.0.tmp`;
  try {
    const fd = openToReplace(temporary);
    try {
      const text = asText(value);
      fs.writeFileSync(fd, file.endsWith('.zst') ? packText(text, RECORD_LEVEL) : text);
    } finally {
      fs.closeSync(fd);
    }
    fs.renameSync(temporary, file);
  } catch (error) {
    // a folder that somebody put there stays: what is said is why nothing could be written
    if (fs.lstatSync(temporary, { throwIfNoEntry: false })?.isFile() === true) fs.rmSync(temporary, { force: true });
    throw error;
  }
}
