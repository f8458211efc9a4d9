import * as fs from 'node:fs';
import { NotPlain, openPlain } from '../../base/plain-file.ts';

/**
 * Opens an ordinary file to read. `owner`: a user number to which it must belong, where users own the folder: no link that
 * they put on the way to it leads to what is not theirs. Throws NotPlain.
 */
export function openOwned(file: string, owner: number | undefined): number {
  const fd = openPlain(file);
  if (owner === undefined || fs.fstatSync(fd).uid === owner) return fd;
  fs.closeSync(fd);
  throw new NotPlain(`it does not belong to user number ${owner}`);
}

/** All of such a file, if it has at most `most` bytes. */
export function readOwned(file: string, owner: number | undefined, most: number): Buffer {
  const fd = openOwned(file, owner);
  try {
    const { size } = fs.fstatSync(fd);
    if (size > most) throw new NotPlain(`it has ${size} bytes; more than ${most} are not read`);
    return fs.readFileSync(fd);
  } finally {
    fs.closeSync(fd);
  }
}
