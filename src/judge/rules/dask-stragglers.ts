import { formatDuration } from '../../base/duration.ts';
import { count, percent } from '../../base/readable.ts';
import { daskTaskTable } from '../../sources/tables.ts';
import { high } from './shared/confidence.ts';
import { daskCluster, runOf, runSeconds } from './shared/dask.ts';
import { named, rule } from './shared/rule.ts';

export default rule({
  id: 'dask-stragglers',
  title: 'Dask tasks that take much longer than others of their kind',
  help: 'Of at least 10 tasks of a prefix, the longest took 5 times the median or more. The excess was at least 20 % of the time from the first task to the last.',
  kind: 'trouble',
  order: 721,
  needs: [daskCluster],
  thresholds: {
    /** Tasks with the same prefix. */
    tasks: 10,
    /** Duration of the longest of them, as a multiple of their median. */
    times: 5,
    /** Share of the run’s duration by which it exceeds the median. */
    share: 0.2,
    /** Seconds by which it exceeds the median. */
    seconds: 1,
  },
  when(facts, limits) {
    const run = runOf(facts);
    return run.prefixes.flatMap(({ prefix, tasks, median_seconds: median = 0, max_seconds: longest = 0 }) => {
      const excess = longest - median;
      const share = excess / runSeconds(run);
      const isOne = tasks >= limits.tasks && longest >= limits.times * median && share >= limits.share;
      return isOne && excess >= limits.seconds ? [{ prefix, tasks, median, longest, share }] : [];
    });
  },
  severity: 'advice',
  say: ({ prefix, longest, median }) =>
    `One Dask task ${prefix} took ${formatDuration(longest)}, the median of them ${formatDuration(median)}`,
  evidence: ({ prefix, tasks, longest, median, share }, _, { times }) => [
    {
      text: `${prefix}: ${count(tasks, 'task')}; the longest took ${formatDuration(longest)}, ${percent(share)} of the whole computation`,
      from: named(daskTaskTable.col.start_time),
      value: median > 0 ? longest / median : longest,
      threshold: times,
    },
  ],
  advise:
    'Make the parts of the data equal (repartition, rechunk), or split the large one; where one worker is slow, look at its node. tacho dask tasks lists all prefixes.',
  confidence: high('every task reported its start and end'),
});
