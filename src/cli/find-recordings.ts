import type { Fault } from '../base/fault.ts';
import { warn } from '../base/warn.ts';
import * as open from '../recording/folder/open.ts';

/** What was said already: some commands look again and again. */
const said = new Set<string>();

/** The recordings that a command is about. What has to be left out is said, and the exit code says so too. */
export function findRecordings(paths: readonly string[], least = 1): open.Recording[] {
  const leftOut = ({ message, hint }: Fault): void => {
    if (!said.has(message)) warn(`left out: ${message}${hint === undefined ? '' : `; ${hint}`}`);
    said.add(message);
    process.exitCode = 1;
  };
  return open.findRecordings(paths, leftOut, least);
}
