import * as fs from 'node:fs';

const SCORE = '/proc/self/oom_score_adj';
/** The kernel's highest: such a process is killed before all others when memory runs out. */
const FIRST = '1000';

let usual: string | undefined;

/** Where memory runs out this process gives way to the job that it records: the kernel kills it first. */
export function beKilledFirst(): void {
  try {
    usual ??= fs.readFileSync(SCORE, 'latin1').trim();
    fs.writeFileSync(SCORE, FIRST);
  } catch {
    // a container may hide the file: then the largest process is killed, as ever
  }
}

/** Starts something that is not to be killed before others: it inherits what this process has at that moment. */
export function notKilledFirst<T>(start: () => T): T {
  if (usual === undefined) return start();
  fs.writeFileSync(SCORE, usual);
  try {
    return start();
  } finally {
    fs.writeFileSync(SCORE, FIRST);
  }
}
