import * as open from '../recording/open.ts';
import { warn } from './warn.ts';

/** The recordings that a command is about. What has to be left out of a folder is said, and the exit code says so too. */
export function findRecordings(paths: readonly string[]): open.Recording[] {
  return open.findRecordings(paths, (why) => {
    warn(`left out: ${why.message}${why.hint === undefined ? '' : `; ${why.hint}`}`);
    process.exitCode = 1;
  });
}
