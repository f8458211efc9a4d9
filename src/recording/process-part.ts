import type { AgentRecord } from './agent-record.ts';
import type { Statistics } from './statistics.ts';

/** The kernel's start of a process and the clock of an agent differ a little: a process so much older counts as new. */
const SLACK = 1e6;

/** When a node began to be recorded, in epoch microseconds; the job's start where its agent left no record. */
export function recordingBegan(agent: Pick<AgentRecord, 'start'> | undefined, job: { start: number }): number {
  return agent === undefined || Number.isNaN(agent.start) ? job.start : agent.start;
}

/** Whether a process ran before its node was recorded: what it had used by then is not the job's. */
export function isOlder(start: number, began: number): boolean {
  return start < began - SLACK;
}

/** What of a process' counter belongs to the recording: all of it, or only what it grew by while it was seen. */
export function counted({ first, last, increase }: Pick<Statistics, 'first' | 'last' | 'increase'>, older: boolean) {
  return older ? (increase ?? last - first) : last;
}

type Extent = Pick<Statistics, 'first' | 'max'>;

/** The kernel's own mark of the highest resident set, else the highest sample. An old mark says nothing of the recording. */
export function peakMemory(mark: Extent | undefined, seen: Extent | undefined, older: boolean): number | undefined {
  const known = [older && mark !== undefined && !(mark.max > mark.first) ? undefined : mark?.max, seen?.max];
  const found = known.filter((value) => value !== undefined && !Number.isNaN(value)) as number[];
  return found.length === 0 ? undefined : Math.max(...found);
}
