import * as open from '../recording/open.ts';
import { warn } from './warn.ts';

/** What was said already: some commands look again and again. */
const said = new Set<string>();

/** The recordings that a command is about. What has to be left out of a folder is said, and the exit code says so too. */
export function findRecordings(paths: readonly string[]): open.Recording[] {
  return open.findRecordings(paths, ({ message, hint }) => {
    if (!said.has(message)) warn(`left out: ${message}${hint === undefined ? '' : `; ${hint}`}`);
    said.add(message);
    process.exitCode = 1;
  });
}
