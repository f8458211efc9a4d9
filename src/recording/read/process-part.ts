import { greatest } from '../../base/extremes.ts';
import { LONGEST_SILENCE, SAMPLE_CLOCK } from '../../sources/process/same-process.ts';
import { processTable } from '../../sources/process/table.ts';
import type { AgentRecord } from '../folder/agent-record.ts';
import type { Statistics } from '../sealed/statistics.ts';

/**
 * From when on what a process used counts, in epoch microseconds: from when its node was recorded, as a user may start that in
 * the middle of a job. From the job's start where the node's own agent records it, however late, or left no record.
 */
export function recordingBegan(
  agent: Pick<AgentRecord, 'start' | 'service'> | undefined,
  job: { start: number },
): number {
  const { start = Number.NaN, service } = agent ?? {};
  return Number.isNaN(start) || (service === true && job.start < start) ? job.start : start;
}

/** How often the processes of a node were sampled, in seconds: the table may be read less often than at every tick. */
export function processInterval(
  agent: Pick<AgentRecord, 'interval_seconds' | 'tables'> | undefined,
  job: { interval_seconds: number },
): number {
  const every = agent?.tables.find(({ name }) => name === processTable.name)?.every ?? 0;
  return Math.max(every, agent?.interval_seconds ?? job.interval_seconds);
}

/** Whether a process ran before its node was recorded: what it had used by then is not the job's. */
export function isOlder(start: number, began: number): boolean {
  return start < began - SAMPLE_CLOCK;
}

/**
 * Whether a process was seen alive at one moment alone: it had gone at the next tick, or there was none. `end` is when it was
 * alive last, as far as its rows tell.
 */
export function isSampledOnce(state: string | undefined, start: number, end: number, intervalSeconds: number): boolean {
  return state === 'X' ? end - start < 1.5e6 * intervalSeconds : end <= start;
}

/**
 * What of a process' counter belongs to the recording: all of it, or only what it grew by while it was seen. Of an older one that
 * was seen once nobody knows that.
 */
export function counted(
  { first, last, increase }: Pick<Statistics, 'first' | 'last' | 'increase'>,
  older: boolean,
  once = false,
): number | undefined {
  if (!older) return last;
  const grown = increase ?? last - first;
  return once && !(grown > 0) ? undefined : grown;
}

type Extent = Pick<Statistics, 'first' | 'max'>;

/** The kernel's own mark of the highest resident set, else the highest sample. An old mark says nothing of the recording. */
export function peakMemory(mark: Extent | undefined, sampled: Extent | undefined, older: boolean): number | undefined {
  const candidates = [older && mark !== undefined && !(mark.max > mark.first) ? undefined : mark?.max, sampled?.max];
  const peaks = candidates.filter((value) => value !== undefined && !Number.isNaN(value)) as number[];
  return peaks.length === 0 ? undefined : greatest(peaks);
}

/**
 * When a process was alive last: a row is written only when something changed, so it lived on until the last tick of its node,
 * unless its last row says that it had ended or none came for too long: nobody looked when it ended. Epoch microseconds.
 */
export function lastAlive(state: string | undefined, lastRow: number, lastTick: () => number | undefined): number {
  if (state === undefined || state === '' || state === 'X' || state === 'Z') return lastRow;
  const tick = lastTick() ?? lastRow;
  return tick - lastRow > LONGEST_SILENCE ? lastRow : Math.max(lastRow, tick);
}
