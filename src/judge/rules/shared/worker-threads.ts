import { greatest, smallest } from '../../../base/extremes.ts';
import type { ProcessSet } from '../../../query/processes/set.ts';
import type { AllThreads } from '../../../query/processes/threads.ts';
import type { ProcessMetric } from '../../../sources/records/tables.ts';
import { recordedEnds } from './processes.ts';
import type { Fact, RuleContext } from './rule.ts';

/** The threads of one process that work. */
export interface WorkerThreads {
  set: ProcessSet;
  threads: AllThreads;
  process: number;
  /** Places among the threads, the busiest first. */
  workers: number[];
  /** Seconds from when all of them were there to when the last ended. */
  seconds: number;
}

/** Limits of rules that look at threads: among the thresholds of each. */
export const THREADS = {
  /** Share of the job’s CPU time that the process of the threads used. */
  process_cpu: 0.3,
  /** Share of the job’s duration that the process ran. */
  duration: 0.25,
  /** Seconds that the process ran. */
  seconds: 3,
  /** Share of the busiest thread’s CPU time, from which a thread counts as working. */
  working: 0.2,
};

export const recordedThreads: readonly Fact[] = [
  recordedEnds,
  {
    what: 'threads that recorded themselves (thread_end)',
    has: (facts) => facts.hasThreads(),
    otherwise: { skipped: 'the job’s threads did not record themselves' },
  },
];

/** Of each process that mattered and has several threads. */
export function workerThreads(facts: RuleContext, limits: typeof THREADS): WorkerThreads[] {
  const set = facts.allProcesses()!;
  const { wall_seconds: wall, cpu_seconds: used = 0 } = facts.summary;
  const matters = new Set<number>();
  for (let i = 0; i < set.length; i++) {
    const life = (set.end[i]! - set.start[i]!) / 1e6;
    const isLong = life >= limits.seconds && life >= limits.duration * wall;
    if (set.threads[i]! > 1 && isLong && set.cpu_time[i]! / 1e6 >= limits.process_cpu * used) matters.add(i);
  }
  if (matters.size === 0) return [];
  const threads = facts.allThreads()!;
  const own = new Map<number, number[]>();
  for (let k = 0; k < threads.length; k++) {
    const process = threads.process[k]!;
    if (!matters.has(process)) continue;
    const all = own.get(process);
    if (all === undefined) own.set(process, [k]);
    else all.push(k);
  }
  return [...own].flatMap(([process, all]): WorkerThreads[] => {
    const most = greatest(all.map((k) => threads.cpu_time[k]! || 0));
    const workers = all
      .filter((k) => threads.cpu_time[k]! >= limits.working * most)
      .sort((a, b) => threads.cpu_time[b]! - threads.cpu_time[a]!);
    if (workers.length < 2) return [];
    // those that came one after the other did not work side by side
    const [from, firstEnd] = [
      greatest(workers.map((k) => threads.start[k]!)),
      smallest(workers.map((k) => threads.end[k]!)),
    ];
    if (!(firstEnd > from)) return [];
    const seconds = (greatest(workers.map((k) => threads.end[k]!)) - from) / 1e6;
    return seconds < limits.seconds ? [] : [{ set, threads, process, workers, seconds }];
  });
}

export const threadCpu = ({ threads }: WorkerThreads, k: number): number => threads.cpu_time[k]! / 1e6;
export const threadLife = ({ threads }: WorkerThreads, k: number): number =>
  (threads.end[k]! - threads.start[k]!) / 1e6;

/** A metric of a thread; 0 where it is not known. */
export const threadMetric = ({ threads }: WorkerThreads, name: ProcessMetric, k: number): number =>
  (threads.metrics.get(name)?.[k] ?? 0) || 0;
