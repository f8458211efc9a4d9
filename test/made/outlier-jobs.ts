import type { MeasuredJob } from '../../src/judge/outliers/measured-job.ts';
import { makeColumns, type ProcessColumns, type ProcessJob } from '../../src/query/processes/set.ts';

/** For tests: a process as a few numbers. Times are microseconds after the job's start. */
export interface MadeProcess {
  exename?: string;
  tags?: string;
  start?: number;
  duration?: number;
  cpu_time?: number;
  metrics?: Record<string, number>;
}

export const MADE_START = 1_794_775_752_000_000;

/** For tests: a job with these processes. */
export function madeJob(
  id: string,
  processes: readonly MadeProcess[],
  facts: { duration?: number; tags?: Record<string, string>; measured?: Record<string, number> } = {},
): MeasuredJob {
  const job: ProcessJob = {
    id,
    name: id,
    user: 'ada',
    nodes: ['c1'],
    start: MADE_START,
    end: MADE_START + (facts.duration ?? 60e6),
    state: 'completed',
    tags: facts.tags ?? {},
    origin: `recordings/tacho-${id}`,
  };
  const columns = (): ProcessColumns => {
    const names = new Set(processes.flatMap(({ metrics }) => Object.keys(metrics ?? {})));
    const made = makeColumns(processes.length, names, [job]);
    processes.forEach((process, i) => {
      made.job[i] = 0;
      made.node[i] = 'c1';
      made.pid[i] = 1000 + i;
      made.threads[i] = 1;
      made.source[i] = 'record';
      made.exename[i] = process.exename ?? 'program';
      made.tags[i] = process.tags ?? '';
      made.start[i] = MADE_START + (process.start ?? 0);
      made.end[i] = made.start[i]! + (process.duration ?? 1e6);
      made.cpu_time[i] = process.cpu_time ?? 5e5;
      for (const [name, value] of Object.entries(process.metrics ?? {})) made.metrics.get(name)![i] = value;
    });
    return made;
  };
  return {
    job,
    processes: async () => columns(),
    threads: async (all) => ({
      length: all.length,
      tid: all.pid.slice(),
      start: all.start,
      end: all.end,
      cpu_time: all.cpu_time,
      metrics: all.metrics,
      process: Uint32Array.from({ length: all.length }, (_, i) => i),
    }),
    measured: async () => new Map(Object.entries(facts.measured ?? {})),
  };
}

/** Twenty jobs: time and CPU time go together; bytes go their own way. Job 13 has much CPU time for its length. */
export const jobsWithOneOdd = (): MeasuredJob[] =>
  Array.from({ length: 20 }, (_, i) => {
    const size = 1 + ((i * 7) % 20) / 20;
    const rchar = 1000 + ((i * 11) % 19);
    const wrong = i === 13 ? 3 : 1;
    return madeJob(`${i}`, [{ cpu_time: wrong * size * (1 + ((i * 3) % 5) / 50) * 1e6, metrics: { rchar } }], {
      duration: size * 1e7,
    });
  });
