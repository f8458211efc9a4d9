import type { NodeJobEnd } from '../jobs/job-file.ts';
import type { Ending } from '../jobs/scheduler.ts';
import type { Job } from '../recording/job.ts';

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
/** One that still runs may have nothing to do here: it is asked again after twice the time, and at least so often. */
const LONGEST_MS = 600_000;

/** An epilog that was never run, or could not write, must not keep a job for ever. Call it now and then. */
export function lostEpilogs(options: LostEpilogsOptions): () => Promise<void> {
  const steady = options.steady ?? (() => performance.now());
  const idle = new Map<WatchedJob, { next: number; pause: number }>();
  let looking = false;

  async function look(): Promise<void> {
    const there = new Map([...options.jobs()].map(([name, job]) => [job, name]));
    for (const job of idle.keys()) if (!there.has(job)) idle.delete(job);
    for (const [watched, name] of there) {
      const { job } = watched;
      if (job.scheduler !== 'slurm' && job.scheduler !== 'pbs') continue;
      if (watched.hasProcesses()) {
        idle.delete(watched);
        continue;
      }
      const known = idle.get(watched) ?? { next: steady() + FIRST_MS, pause: FIRST_MS };
      idle.set(watched, known);
      if (steady() < known.next) continue;
      known.pause = Math.min(LONGEST_MS, known.pause * 2);
      known.next = steady() + known.pause;
      const said = await options.ask(job);
      if (said === undefined || said.state === 'running') continue;
      const [, running] = [...options.jobs()].find(([each]) => each === name) ?? [];
      if (running !== watched) continue;
      // its own end is only a guess where the scheduler has none
      const end = said.end ?? watched.lastProcess;
      const told = { id: job.id, ...(end === undefined ? {} : { end, guessed: true }) };
      options.ended(name, told, 'the scheduler says that it has ended; its epilog did not');
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
