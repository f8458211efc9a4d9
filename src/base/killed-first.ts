import * as fs from 'node:fs';

const SCORE = '/proc/self/oom_score_adj';
/** The kernel's highest: such a process is killed before all others when memory runs out. */
const FIRST = '1000';

/** Where memory runs out this process gives way to the job that it records: the kernel kills it first. */
export function beKilledFirst(): void {
  try {
    fs.writeFileSync(SCORE, FIRST);
  } catch {
    // a container may hide the file: then the largest process is killed, as ever
  }
}
