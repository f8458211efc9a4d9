import { signalName } from '../../../base/signal-name.ts';
import { isExact, type ProcessSet } from '../../../query/processes/set.ts';
import type { JobReport } from '../../report-schema.ts';
import { isLastImage } from './processes.ts';
import type { RuleContext } from './rule.ts';

/** The failed process whose exit code or signal became the job's. */

/** Limits of the rules that look at it: they are among the thresholds of each. */
export const LAST_FAILURE = {
  /** Seconds after the failure of a process in which the job ended in the same way, because of it. */
  passed_on_seconds: 1,
};

/** What shells make of signals: 128 and the signal's number. */
const BY_SHELL = 128;

/** Its place among the job's processes. Undefined: there is none, or processes did not record themselves. */
export function lastFailure(
  facts: RuleContext,
  { passed_on_seconds }: typeof LAST_FAILURE,
): { set: ProcessSet; at: number } | undefined {
  const { job, records } = facts;
  const set = (records?.failed ?? 0) > 0 && job.end !== undefined ? facts.allProcesses() : undefined;
  if (set === undefined) return undefined;
  const matching: number[] = [];
  // a parent that passes a failure on fails in the same way
  const parents = new Set<number>();
  const last = new Map<number, number>();
  for (let i = 0; i < set.length; i++) {
    if (!isLastImage(set, i)) continue;
    last.set(set.process[i]!, i);
    if (!isExact(set, i) || !endedAs(set, i, job)) continue;
    if (!(set.end[i]! >= job.end! - passed_on_seconds * 1e6)) continue;
    matching.push(i);
    parents.add(set.process[parentOf(set, i)] ?? -1);
  }
  const own = matching.filter(
    (i) => parentOf(set, i) >= 0 && !parents.has(set.process[i]!) && isPassedOn(set, i, job, last),
  );
  const at = own.sort((a, b) => set.end[b]! - set.end[a]!)[0];
  return at === undefined ? undefined : { set, at };
}

/**
 * Whether no process above it hid its failure: by ending in another way, or by running another program after it. The
 * topmost ended as the job did. `last` has the last image of each process.
 */
function isPassedOn(set: ProcessSet, failed: number, job: JobReport, last: ReadonlyMap<number, number>): boolean {
  for (let below = failed; ; ) {
    const parent = parentOf(set, below);
    const above = parent < 0 ? undefined : last.get(set.process[parent]!);
    if (above === undefined) return true;
    if (set.start[above]! > set.end[below]!) return false;
    if (parentOf(set, above) >= 0 && isExact(set, above) && !endedAs(set, above, job)) return false;
    below = above;
  }
}

const parentOf = (set: ProcessSet, i: number): number => set.parent[set.process[i]!]!;

/** Whether it ended with the exit code or the signal with which the job did. */
function endedAs(set: ProcessSet, i: number, { exit_code = 0, signal }: JobReport): boolean {
  const [code, by] = [set.exitcode[i]!, set.exitsignal[i]!];
  if (by > 0) return exit_code === BY_SHELL + by || signal === signalName(by);
  return code > 0 && exit_code === code;
}
