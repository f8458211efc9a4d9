import type { NodeJobEnd } from '../../jobs/on-node/job-file.ts';
import type { Ending } from '../../jobs/schedulers/scheduler.ts';
import type { Job } from '../../recording/folder/job.ts';

/** A job that is being recorded. */
export interface WatchedJob {
  readonly job: Job;
  /** Whether it has a process here. */
  hasProcesses(): boolean;
  /** When it was last seen to have one, in epoch microseconds. */
  readonly lastProcess: number | undefined;
}

export interface LostEpilogsOptions {
  jobs(): Iterable<readonly [name: string, WatchedJob]>;
  /** Undefined: the scheduler does not say. */
  ask(job: Job): Promise<Ending | undefined>;
  ended(name: string, end: NodeJobEnd, why: string): void;
  /** Milliseconds of a clock that only goes on. */
  steady?(): number;
}

/** A job without any process for so long may have lost its epilog: the scheduler is asked. */
const FIRST_MS = 60_000;
/**
 * One that still runs may have nothing to do here: it is asked again after twice the time, and at least so often. So is one
 * that has processes: a daemon may have outlived its job.
 */
const LONGEST_MS = 600_000;

/** An epilog that was never run, or could not write, must not keep a job for ever. Call it now and then. */
export function lostEpilogs(options: LostEpilogsOptions): () => Promise<void> {
  const steady = options.steady ?? (() => performance.now());
  const inquiries = new Map<WatchedJob, { asked: number; idle?: { next: number; pause: number } | undefined }>();
  let looking = false;

  async function look(): Promise<void> {
    const there = new Map([...options.jobs()].map(([name, job]) => [job, name]));
    for (const job of inquiries.keys()) if (!there.has(job)) inquiries.delete(job);
    for (const [watched, name] of there) {
      const { job } = watched;
      if (job.scheduler === 'none' || job.scheduler === 'file') continue;
      const inquiry = inquiries.get(watched) ?? { asked: steady() };
      inquiries.set(watched, inquiry);
      if (watched.hasProcesses()) inquiry.idle = undefined;
      else inquiry.idle ??= { next: steady() + FIRST_MS, pause: FIRST_MS };
      const { idle } = inquiry;
      if (steady() < Math.min(inquiry.asked + LONGEST_MS, idle?.next ?? Number.POSITIVE_INFINITY)) continue;
      inquiry.asked = steady();
      if (idle !== undefined) {
        idle.pause = Math.min(LONGEST_MS, idle.pause * 2);
        idle.next = steady() + idle.pause;
      }
      const ending = await options.ask(job);
      if (ending === undefined || ending.state === 'running') continue;
      const [, running] = [...options.jobs()].find(([each]) => each === name) ?? [];
      if (running !== watched) continue;
      // its own end is only a guess where the scheduler has none
      const end = ending.end ?? watched.lastProcess;
      const endedJob = { id: job.id, ...(end === undefined ? {} : { end, guessed: true }) };
      options.ended(name, endedJob, 'the scheduler says that it has ended; its epilog did not');
    }
  }

  return async () => {
    if (looking) return;
    looking = true;
    try {
      await look();
    } finally {
      looking = false;
    }
  };
}
