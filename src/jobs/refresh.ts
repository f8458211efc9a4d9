import * as fs from 'node:fs';
import { newestWrite } from '../recording/alive.ts';
import { saveJob } from '../recording/create.ts';
import type { Job } from '../recording/job.ts';
import type { Recording } from '../recording/open.ts';
import type { Run } from './command.ts';
import { schedulerNamed, schedulerRunner } from './job-facts.ts';

/** Agents write at every tick: one that wrote nothing for so many intervals (and seconds) is taken for dead. */
const SILENT_INTERVALS = 10;
const SILENT_SECONDS = 60;

/**
 * How a job ended that could not say so itself: it was cancelled, hit its limit, lost a node, or ended after `tacho stop`.
 * Asks the scheduler, a short time; what it learns is kept in job.json when the recording is this user's own.
 */
export async function refreshJob(
  recording: Pick<Recording, 'path' | 'job' | 'nodes'>,
  run: Run = schedulerRunner(2),
): Promise<Job> {
  const { job } = recording;
  if (job.end !== undefined && job.state !== 'running') return job;
  const found = await schedulerNamed(job.scheduler).state(run, job, () => {});
  let known: Job = job;
  if (found !== undefined && found.state !== 'running') {
    // the recording's own end, where there is one, is what its figures refer to
    known = { ...job, ...found, ...(job.end === undefined ? {} : { end: job.end }) };
    if (known.end === undefined) known.end = lastSign(recording) ?? job.start;
  } else if (found === undefined && job.end === undefined) known = silentEnd(recording) ?? job;
  // a job.json that is damaged stays as it is for `verify`: what could be guessed must not take its place
  const guessed = job.user === '' && job.uid < 0;
  if (known !== job && !guessed && ownedByUs(recording.path)) {
    try {
      saveJob(recording.path, known);
    } catch {
      // a read-only archive: the answer is still good for this report
    }
  }
  return known;
}

/** Nobody knows how it ended; that its agents are silent says that it did. */
function silentEnd(recording: Pick<Recording, 'job' | 'nodes'>): Job | undefined {
  const { job, nodes } = recording;
  const last = lastSign(recording);
  if (last === undefined || nodes.length === 0) return undefined;
  const ended = nodes.every(({ agent }) => agent?.end !== undefined);
  const silent = Date.now() * 1000 - last > Math.max(SILENT_SECONDS, SILENT_INTERVALS * job.interval_seconds) * 1e6;
  if (!ended && !silent) return undefined;
  const why = nodes.map(({ agent }) => agent?.end_reason).find((reason) => reason !== undefined);
  return {
    ...job,
    state: 'unknown',
    end: last,
    reason: ended && why !== undefined ? `recording ended: ${why}` : 'recording ended without `tacho stop`',
  };
}

/** When the newest sample was written, on any node. */
export function lastSign({ nodes }: Pick<Recording, 'nodes'>): number | undefined {
  const times = nodes.flatMap((node) => node.agent?.end ?? newestWrite(node) ?? []);
  return times.length === 0 ? undefined : Math.max(...times);
}

function ownedByUs(folder: string): boolean {
  try {
    return fs.statSync(folder).uid === process.getuid!();
  } catch {
    return false;
  }
}
