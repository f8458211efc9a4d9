import { formatDuration } from '../../base/duration.ts';
import { count, percent } from '../../base/readable.ts';
import { daskTaskTable } from '../../sources/tables.ts';
import { high } from './shared/confidence.ts';
import { daskCluster, runOf, runSeconds, workerName } from './shared/dask.ts';
import { shown } from './shared/evidence.ts';
import { named, rule } from './shared/rule.ts';

export default rule({
  id: 'dask-idle-workers',
  title: 'Dask workers without tasks',
  help: 'Between the first task and the last, 10 s or more, the threads of the Dask workers executed tasks for less than half of their time.',
  kind: 'waste',
  order: 720,
  needs: [daskCluster],
  thresholds: {
    /** Share of their time that workers were busy, below which there is a finding. */
    share: 0.5,
    /** Seconds from the first task to the last. */
    seconds: 10,
  },
  when(facts, { share, seconds }) {
    const run = runOf(facts);
    const workers = run.workers.filter(({ threadSeconds }) => threadSeconds > 0);
    const had = workers.reduce((sum, each) => sum + each.threadSeconds, 0);
    const busy = workers.reduce((sum, each) => sum + each.busySeconds + each.transferSeconds + each.diskSeconds, 0);
    if (runSeconds(run) < seconds || workers.length < 2 || busy / had >= share) return [];
    return [{ workers, busy: busy / had, idle: had - busy }];
  },
  severity: 'advice',
  say: ({ workers, busy }) =>
    `${count(workers.length, 'Dask worker')} executed tasks for ${percent(busy)} of their time`,
  evidence: ({ workers, busy, idle }, _, { share }) => [
    {
      text: `${formatDuration(idle)} of their threads had no task, together`,
      from: named(daskTaskTable.col.start_time),
      value: busy,
      threshold: share,
    },
    ...shown(
      workers.toSorted((a, b) => a.busySeconds / a.threadSeconds - b.busySeconds / b.threadSeconds),
      4,
    ).map(({ use, busySeconds, threadSeconds, tasks }) => ({
      text: `${workerName(use)}: ${percent(busySeconds / threadSeconds)} busy, ${count(tasks, 'task')}`,
      from: named(daskTaskTable.col.start_time),
      value: busySeconds / threadSeconds,
    })),
  ],
  advise:
    'Use fewer workers or threads, or more and smaller partitions; compute results together (dask.compute(a, b)) instead of one after the other.',
  confidence: high('every task reported its start and end'),
});
