import * as fs from 'node:fs';
import { code } from './fault.ts';

const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = fs.constants;

/** What is there by this name cannot be read as a file: it is a pipe, a device, a folder, somebody else's link, or too large. */
export class NotPlain extends Error {}

/**
 * Opens an ordinary file, and nothing that would block or lead elsewhere. With `links`, links that are our own or root's
 * are followed, as somebody has them who keeps files elsewhere.
 */
export function openPlain(file: string, flags: number = O_RDONLY, links = false): number {
  return openSized(file, flags, links).fd;
}

/** The same, and how many bytes it has. */
export function openSized(file: string, flags: number = O_RDONLY, links = false): { fd: number; size: number } {
  let fd: number;
  try {
    fd = fs.openSync(file, flags | O_NOFOLLOW | O_NONBLOCK, 0o600);
  } catch (error) {
    if (code(error) === 'ENXIO') throw new NotPlain(NOT_ORDINARY, { cause: error });
    if (code(error) === 'EISDIR') throw new NotPlain('is a folder', { cause: error });
    if (code(error) !== 'ELOOP') throw error;
    if (!links || isForeignLink(file)) throw new NotPlain('it is a link, and links are not followed', { cause: error });
    fd = fs.openSync(file, flags | O_NONBLOCK, 0o600);
  }
  const stat = fs.fstatSync(fd);
  if (stat.isFile()) return { fd, size: stat.size };
  fs.closeSync(fd);
  throw new NotPlain(stat.isDirectory() ? 'is a folder' : NOT_ORDINARY);
}

const NOT_ORDINARY = 'it is not an ordinary file';

/** A link that somebody else has made leads where that one wants the reader to look: in an archive users own their folders. */
export function isForeignLink(file: string, stat = fs.lstatSync(file)): boolean {
  return stat.isSymbolicLink() && stat.uid !== 0 && stat.uid !== process.getuid!();
}

/** All of an ordinary file, if it has at most `most` bytes; in `room`, if it has room for them. */
export function readPlain(file: string, most: number, room?: Buffer): Buffer {
  const { fd, size } = openSized(file, O_RDONLY, true);
  try {
    if (size > most) throw tooLarge(size, most);
    const bytes = room !== undefined && size <= room.length ? room : Buffer.allocUnsafe(size);
    let filled = 0;
    while (filled < size) {
      const got = fs.readSync(fd, bytes, filled, size - filled, filled);
      if (got === 0) break;
      filled += got;
    }
    return bytes.subarray(0, filled);
  } finally {
    fs.closeSync(fd);
  }
}

export const tooLarge = (size: number, most: number): NotPlain =>
  new NotPlain(`it has ${size} bytes; more than ${most} are not read`);

/** Makes a file to write to; what something that was interrupted has left by this name goes first. No link is followed. */
export function openNew(file: string, mode = 0o600): number {
  try {
    return fs.openSync(file, 'wx', mode);
  } catch (error) {
    if (code(error) !== 'EEXIST') throw error;
    fs.rmSync(file, { force: true });
    return fs.openSync(file, 'wx', mode);
  }
}
