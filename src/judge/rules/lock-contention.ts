import { formatDuration } from '../../base/duration.ts';
import { count, cpusFigure, figure, percent } from '../../base/readable.ts';
import { threadEndTable } from '../../sources/tables.ts';
import { medium } from './shared/confidence.ts';
import { processName } from './shared/processes.ts';
import { named, rule } from './shared/rule.ts';
import {
  recordedThreads,
  THREADS,
  threadCpu,
  threadLife,
  threadMetric,
  type WorkerThreads,
  workerThreads,
} from './shared/worker-threads.ts';

const thresholds = {
  ...THREADS,
  /** Share of the time in which threads neither ran nor waited for a CPU. */
  blocked: 0.35,
  /** The same share of its own duration that each thread reached. */
  blocked_each: 0.2,
  /** CPUs that the threads used or waited for together; below, they wait for work. */
  wanted: 0.7,
  /** Times per second of CPU time that a thread gave up its CPU. */
  switches: 100,
  /** Reads and writes each time, above which threads wait for data instead. */
  calls: 0.5,
};

interface Contended extends WorkerThreads {
  blocked: number;
  wanted: number;
  /** Voluntary context switches in a second of CPU time. */
  switches: number;
}

export default rule({
  id: 'lock-contention',
  title: 'threads that wait for each other',
  help: 'Threads that share the work of a process were blocked for more than a third of the time, not counting waits for a CPU. They gave up their CPUs 100 times or more in a second of CPU time, and hardly read or wrote meanwhile: they wait for a lock, as all threads of a Python program do.',
  kind: 'trouble',
  order: 446,
  needs: recordedThreads,
  thresholds,
  when(facts, limits) {
    if ((facts.summary.cpus ?? 2) < 2) return [];
    return workerThreads(facts, limits)
      .flatMap((own): Contended[] => {
        const sum = (of: (k: number) => number): number => own.workers.reduce((all, k) => all + of(k), 0);
        const metric = (name: Parameters<typeof threadMetric>[1]): number => sum((k) => threadMetric(own, name, k));
        const life = sum((k) => threadLife(own, k));
        const ready = (k: number): number => threadCpu(own, k) + threadMetric(own, 'time_waiting', k) / 1e9;
        const [cpu, ran] = [sum((k) => threadCpu(own, k)), sum(ready)];
        // others that take the CPUs must not hide it
        const unhidden = (life - ran) / (life - ran + cpu);
        const blocked = 1 - ran / life;
        const wanted = ran / (life / own.workers.length);
        const gaveUp = metric('vol_ctxsw');
        const calls = metric('syscr') + metric('syscw');
        if (unhidden < limits.blocked || blocked < limits.blocked_each || wanted < limits.wanted) return [];
        // where one is always busy the others wait for it, not for a lock
        if (own.workers.some((k) => ready(k) > (1 - limits.blocked_each) * threadLife(own, k))) return [];
        if (gaveUp < limits.switches * cpu || calls > limits.calls * gaveUp) return [];
        return [{ ...own, blocked, wanted, switches: gaveUp / cpu }];
      })
      .sort((a, b) => b.blocked * b.seconds - a.blocked * a.seconds)
      .slice(0, 1);
  },
  severity: 'advice',
  say: ({ set, process, workers, blocked, wanted }) =>
    `${count(workers.length, 'thread')} of ${processName(set, process)} waited for each other ${percent(blocked)} of the time: together they wanted ${cpusFigure(wanted)} CPUs`,
  evidence: (own, _, limits) => [
    {
      text: `${count(own.workers.length, 'thread')} lived for ${formatDuration(own.seconds)}: blocked ${percent(own.blocked)} of that, neither on a CPU nor waiting for one`,
      from: named(threadEndTable.col.usertime, threadEndTable.col.time_waiting),
      node: own.set.node[own.process]!,
      value: own.blocked,
      threshold: limits.blocked,
    },
    {
      text: `they gave up their CPUs ${figure(own.switches)} times in a second of CPU time, with hardly a read or write`,
      from: named(threadEndTable.col.vol_ctxsw, threadEndTable.col.syscr, threadEndTable.col.syscw),
      node: own.set.node[own.process]!,
      value: own.switches,
      threshold: limits.switches,
    },
  ],
  advise: ({ set, process }) =>
    /^(python|pypy)/.test(set.exename[process]!)
      ? 'Python runs one of its threads at a time: use processes (multiprocessing, ProcessPoolExecutor), or libraries that release its lock (NumPy, PyTorch).'
      : 'Hold locks for less time or use several (one for each part of the data), let each thread gather its own results and add them up at the end, or use fewer threads.',
  confidence: medium('threads that wait for tasks from each other in small portions look the same'),
});
