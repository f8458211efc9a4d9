import { formatDuration } from '../../base/duration.ts';
import { count, percent } from '../../base/readable.ts';
import { daskTaskTable } from '../../sources/tables.ts';
import { high } from './shared/confidence.ts';
import { daskCluster, runOf } from './shared/dask.ts';
import { shown } from './shared/evidence.ts';
import { named, rule } from './shared/rule.ts';

export default rule({
  id: 'dask-recomputed',
  title: 'Dask tasks that were computed again',
  help: 'At least 10 executions, and 5 % of all, were of keys that the same job of Dask (client) had computed before.',
  kind: 'trouble',
  order: 727,
  needs: [daskCluster],
  thresholds: {
    /** Tasks that were computed again. */
    tasks: 10,
    /** Share of all tasks that were computed again. */
    share: 0.05,
  },
  when(facts, limits) {
    const run = runOf(facts);
    const again = run.prefixes.filter(({ recomputed }) => recomputed > 0);
    const tasks = again.reduce((sum, each) => sum + each.recomputed, 0);
    const share = tasks / run.tasks;
    return tasks < limits.tasks || share < limits.share ? [] : [{ again, tasks, share, gone: run.gone.length }];
  },
  severity: 'advice',
  say: ({ tasks, share }) => `${count(tasks, 'Dask task')} (${percent(share)}) were computed again`,
  evidence: ({ again, share, gone }, _, limits) => [
    {
      text: `${percent(share)} of all executions${gone > 0 ? `; ${count(gone, 'worker')} left meanwhile` : ''}`,
      from: named(daskTaskTable.col.key),
      value: share,
      threshold: limits.share,
    },
    ...shown(
      again.toSorted((a, b) => b.recomputed - a.recomputed),
      4,
    ).map(({ prefix, recomputed, mean_seconds = 0 }) => ({
      text: `${prefix}: ${count(recomputed, 'time')} again, about ${formatDuration(recomputed * mean_seconds)}`,
      from: named(daskTaskTable.col.key),
      value: recomputed,
    })),
  ],
  advise:
    'Keep what several computations need: persist() it, hold its futures, or compute all results in one call. Where workers died, see to their memory first.',
  confidence: high('every execution was recorded'),
});
