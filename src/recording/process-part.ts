import type { AgentRecord } from './agent-record.ts';
import type { Statistics } from './statistics.ts';

/** The kernel's start of a process and the clock of an agent differ a little: a process so much older counts as new. */
const SLACK = 1e6;

/** From when to when a node was recorded, in epoch microseconds. */
export interface RecordedSpan {
  /** The job's start where its agent left no record. */
  began: number;
  /** NaN: unknown. */
  ended: number;
}

export function recordedSpan(
  agent: Pick<AgentRecord, 'start' | 'end'> | undefined,
  job: { start: number },
): RecordedSpan {
  const began = agent === undefined || Number.isNaN(agent.start) ? job.start : agent.start;
  return { began, ended: agent?.end ?? Number.NaN };
}

/** A process that does nothing has a row so often, and a last one with this state when it has gone. */
const ROW = 60e6;
const GONE = 'X';

/** When a process was seen last: one whose last row does not say that it has gone was there to the end. */
export function lastSeen(lastRow: number, state: string | undefined, { ended }: RecordedSpan): number {
  const there = state !== undefined && state !== GONE && lastRow + ROW + SLACK > ended;
  return there ? Math.max(lastRow, ended) : lastRow;
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
