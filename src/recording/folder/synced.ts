import * as fs from 'node:fs';
import { openNew } from '../../base/plain-file.ts';

/** Writes a file and waits until it is on the disk. */
export function writeSynced(file: string, content: string | Uint8Array): void {
  writeNew(file, content, true);
}

export function writeNew(file: string, content: string | Uint8Array, isSynced = false): void {
  const fd = openNew(file);
  try {
    fs.writeFileSync(fd, content);
    if (isSynced) fs.fsyncSync(fd);
  } finally {
    fs.closeSync(fd);
  }
}

/** Waits until a file that was written before is on the disk. */
export function syncFile(file: string): void {
  const fd = fs.openSync(file, 'r');
  try {
    fs.fsyncSync(fd);
  } finally {
    fs.closeSync(fd);
  }
}

/** Brings renames to the disk where the file system can do that. */
export function syncFolder(folder: string): void {
  const fd = fs.openSync(folder, 'r');
  try {
    fs.fsyncSync(fd);
  } catch {
    // some network file systems refuse this for folders
  } finally {
    fs.closeSync(fd);
  }
}
