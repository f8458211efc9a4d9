import { count } from '../../base/readable.ts';
import { daskGraphTable } from '../../sources/tables.ts';
import { high } from './shared/confidence.ts';
import { daskCluster, runOf } from './shared/dask.ts';
import { named, rule } from './shared/rule.ts';

export default rule({
  id: 'dask-huge-graph',
  title: 'one huge Dask graph',
  help: 'A graph of 100,000 tasks or more was submitted at once.',
  kind: 'trouble',
  order: 725,
  needs: [daskCluster],
  thresholds: {
    /** Tasks of one graph. */
    tasks: 100_000,
  },
  when(facts, { tasks }) {
    const [largest] = runOf(facts).graphs.toSorted((a, b) => b.tasks - a.tasks);
    return largest !== undefined && largest.tasks >= tasks ? [largest] : [];
  },
  severity: 'advice',
  say: ({ tasks, name }) => `A Dask graph has ${count(tasks, 'task')}${name === '' ? '' : ` (${name})`}`,
  evidence: ({ tasks, job, dag }, _, limits) => [
    {
      text: `graph ${dag} of job ${job}: ${count(tasks, 'task')}`,
      from: named(daskGraphTable.col.tasks),
      value: tasks,
      threshold: limits.tasks,
    },
  ],
  advise:
    'Build it from larger chunks, or submit it in parts: client and scheduler go through the whole graph before the first task starts, and hold it in memory.',
  confidence: high('counted by the scheduler'),
});
