import * as fs from 'node:fs';
import type { Fault } from '../base/fault.ts';
import { warn } from '../base/warn.ts';
import * as open from '../recording/folder/open.ts';

/** What was said already: some commands look again and again. */
const said = new Set<string>();

/** The recordings that a command is about. What has to be left out is said, and the exit code says so too. */
export async function findRecordings(paths: readonly string[], least = 1): Promise<open.Recording[]> {
  const leftOut = ({ message, hint }: Fault): void => {
    if (!said.has(message)) warn(`left out: ${message}${hint === undefined ? '' : `; ${hint}`}`);
    said.add(message);
    process.exitCode = 1;
  };
  const recordings = open.findRecordings(paths, leftOut, least);
  const unfiled = recordings.filter(({ job }) => job.process_records && fs.existsSync(job.process_records.file));
  if (unfiled.length > 0) {
    const { readUnfiled } = await import('../agent/run/adopt-records.ts');
    for (const recording of unfiled) readUnfiled(recording);
  }
  return recordings;
}
