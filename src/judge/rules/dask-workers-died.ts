import { count, listed } from '../../base/readable.ts';
import { formatBytes } from '../../base/size.ts';
import { daskTaskTable, daskWorkerTable } from '../../sources/tables.ts';
import { high } from './shared/confidence.ts';
import { daskCluster, runOf, workerName } from './shared/dask.ts';
import { shown } from './shared/evidence.ts';
import { named, rule } from './shared/rule.ts';

export default rule({
  id: 'dask-workers-died',
  title: 'Dask workers that died with tasks',
  help: 'Dask workers went away while they had tasks, which had to be computed elsewhere or failed.',
  kind: 'trouble',
  order: 719,
  needs: [daskCluster],
  thresholds: {
    /** Tasks that were lost with their workers. */
    tasks: 1,
  },
  when(facts, limits) {
    const run = runOf(facts);
    const lost = run.prefixes.filter((each) => each.lost > 0);
    const tasks = lost.reduce((sum, each) => sum + each.lost, 0);
    const gone = run.workers.filter(({ use }) => run.gone.some(({ worker }) => worker === use.worker));
    return tasks < limits.tasks ? [] : [{ lost, tasks, gone }];
  },
  severity: 'warning',
  say: ({ tasks, lost }) =>
    `${count(tasks, 'Dask task')} ${tasks === 1 ? 'was lost with its worker' : 'were lost with their workers'}: ${listed(lost.map(({ prefix }) => prefix))}`,
  evidence: ({ lost, tasks, gone }, _, limits) => [
    {
      text: `${count(tasks, 'execution')} had no end: ${listed(lost.map(({ prefix, lost }) => `${prefix} × ${lost}`))}`,
      from: named(daskTaskTable.col.outcome),
      value: tasks,
      threshold: limits.tasks,
    },
    ...shown(gone, 4).map(({ use }) => ({
      text: `${workerName(use)} on ${use.host}: ${formatBytes(use.memory.at(-1)!)} of memory in its last sample${Number.isNaN(use.limit) ? '' : `, limit ${formatBytes(use.limit)}`}`,
      from: named(daskWorkerTable.col.memory_bytes),
      value: use.memory.at(-1)!,
    })),
  ],
  advise:
    'Most workers die because they run out of memory: give each more memory or fewer threads, or make partitions smaller. The log of the worker or its nanny says why.',
  confidence: high('reported by the scheduler'),
});
