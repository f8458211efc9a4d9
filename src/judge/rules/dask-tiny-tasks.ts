import { formatDuration } from '../../base/duration.ts';
import { count, figure } from '../../base/readable.ts';
import { daskTaskTable } from '../../sources/tables.ts';
import { high } from './shared/confidence.ts';
import { daskCluster, runOf, runSeconds } from './shared/dask.ts';
import { shown } from './shared/evidence.ts';
import { named, rule } from './shared/rule.ts';

export default rule({
  id: 'dask-tiny-tasks',
  title: 'too many tiny Dask tasks',
  help: 'At least 2,000 tasks took less than 10 ms on average: Dask itself needs about 1 ms for each.',
  kind: 'trouble',
  order: 724,
  needs: [daskCluster],
  thresholds: {
    /** Tasks of the run. */
    tasks: 2000,
    /** Mean duration of a task in seconds, below which there is a finding. */
    mean_seconds: 0.01,
  },
  when(facts, limits) {
    const run = runOf(facts);
    const seconds = run.prefixes.reduce((sum, each) => sum + each.seconds, 0);
    const mean = seconds / run.tasks;
    return run.tasks < limits.tasks || mean >= limits.mean_seconds ? [] : [{ run, mean }];
  },
  severity: 'advice',
  say: ({ run, mean }) =>
    `${count(run.tasks, 'Dask task')} took ${formatDuration(mean)} each: scheduling costs more than that`,
  evidence: ({ run, mean }, _, limits) => [
    {
      text: `${figure(run.tasks / runSeconds(run))} tasks a second, ${formatDuration(mean)} on average`,
      from: named(daskTaskTable.col.start_time),
      value: mean,
      threshold: limits.mean_seconds,
    },
    ...shown(
      run.prefixes.toSorted((a, b) => b.tasks - a.tasks),
      4,
    ).map(({ prefix, tasks, median_seconds = Number.NaN }) => ({
      text: `${prefix}: ${count(tasks, 'task')}, median ${formatDuration(median_seconds)}`,
      from: named(daskTaskTable.col.prefix),
      value: tasks,
    })),
  ],
  advise:
    'Give each task more work: larger chunks or partitions, dask.bag or batches of inputs instead of one future per item, fuse simple steps into one function.',
  confidence: high('every task reported its start and end'),
});
