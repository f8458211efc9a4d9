import * as fs from 'node:fs';

/** So many files below a folder this process has open. */
export const openFiles = (folder: string): number =>
  fs.readdirSync('/proc/self/fd').filter((fd) => {
    try {
      return fs.readlinkSync(`/proc/self/fd/${fd}`).startsWith(folder);
    } catch {
      // that of this very listing
      return false;
    }
  }).length;
