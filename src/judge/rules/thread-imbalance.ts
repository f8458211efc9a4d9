import { formatDuration } from '../../base/duration.ts';
import { count, percent } from '../../base/readable.ts';
import { threadName } from '../../query/processes/thread-name.ts';
import { threadEndTable } from '../../sources/tables.ts';
import { medium } from './shared/confidence.ts';
import { shown } from './shared/evidence.ts';
import { processName } from './shared/processes.ts';
import { named, rule } from './shared/rule.ts';
import { middle } from './shared/similar-processes.ts';
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
  /** Share of the busiest thread’s CPU time, from which a thread counts as working. */
  working: 0.12,
  /** Number of threads that work. */
  threads: 3,
  /** Share of the busiest thread’s CPU time that the threads lack on average. */
  idle: 0.3,
  /** Share of its duration that the busiest thread ran or waited for a CPU. */
  busy: 0.8,
};

interface Uneven extends WorkerThreads {
  idle: number;
}

const FROM = named(threadEndTable.col.usertime, threadEndTable.col.systemtime);

export default rule({
  id: 'thread-imbalance',
  title: 'threads of a process with unlike work',
  help: 'At least three working threads of a process used very different CPU time: on average 30 % less than the busiest, which worked most of its life. Threads that spin while they wait look busy, and hide it.',
  kind: 'trouble',
  order: 445,
  needs: recordedThreads,
  thresholds,
  when(facts, limits) {
    return workerThreads(facts, limits)
      .flatMap((own): Uneven[] => {
        if (own.workers.length < limits.threads) return [];
        const [busiest] = own.workers as [number];
        const most = threadCpu(own, busiest);
        const waited = threadMetric(own, 'time_waiting', busiest) / 1e9;
        if (most + waited < limits.busy * threadLife(own, busiest)) return [];
        const all = own.workers.reduce((sum, k) => sum + threadCpu(own, k), 0);
        const idle = 1 - all / own.workers.length / most;
        return idle < limits.idle ? [] : [{ ...own, idle }];
      })
      .sort((a, b) => b.idle * b.seconds - a.idle * a.seconds)
      .slice(0, 1);
  },
  severity: 'advice',
  say: (own) =>
    `The ${count(own.workers.length, 'working thread')} of ${processName(own.set, own.process)} had unequal work: ${formatDuration(threadCpu(own, own.workers[0]!))} of CPU time in the busiest, ${formatDuration(middle(own.workers.map((k) => threadCpu(own, k))))} in the median`,
  evidence: (own, _, limits) => [
    {
      text: `on average they had ${percent(1 - own.idle)} of the busiest one’s CPU time`,
      from: FROM,
      node: own.set.node[own.process]!,
      value: own.idle,
      threshold: limits.idle,
    },
    ...shown([...own.workers.slice(0, 3), ...own.workers.slice(3).slice(-2)]).map((k) => ({
      text: `thread ${threadName(own.threads.tid[k]!)}: ${formatDuration(threadCpu(own, k))} of CPU time in ${formatDuration(threadLife(own, k))}`,
      from: FROM,
      node: own.set.node[own.process]!,
      value: threadCpu(own, k),
    })),
  ],
  advise:
    'The others wait for the busiest thread. Hand the work out in smaller parts (OpenMP: schedule(dynamic), a work queue, more tasks than threads).',
  confidence: medium('threads that have different tasks on purpose look the same'),
});
