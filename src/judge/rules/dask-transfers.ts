import { formatDuration } from '../../base/duration.ts';
import { percent } from '../../base/readable.ts';
import { daskTaskTable } from '../../sources/tables.ts';
import { high } from './shared/confidence.ts';
import { daskCluster, runOf } from './shared/dask.ts';
import { shown } from './shared/evidence.ts';
import { named, rule } from './shared/rule.ts';

export default rule({
  id: 'dask-transfers',
  title: 'Dask tasks that wait for data of other workers',
  help: 'Workers fetched data from other workers for at least 1 s, and for more than 30 % of the time of transfers and computation together.',
  kind: 'trouble',
  order: 723,
  needs: [daskCluster],
  thresholds: {
    /** Share of transfers in the time of transfers and computation. */
    share: 0.3,
    /** Seconds of transfers. */
    seconds: 1,
  },
  when(facts, limits) {
    const { prefixes } = runOf(facts);
    const transfer = prefixes.reduce((sum, each) => sum + each.transfer_seconds, 0);
    const compute = prefixes.reduce((sum, each) => sum + each.seconds, 0);
    const share = transfer / (transfer + compute);
    return transfer < limits.seconds || share < limits.share ? [] : [{ prefixes, transfer, share }];
  },
  severity: 'advice',
  say: ({ transfer, share }) =>
    `Dask workers spent ${percent(share)} of their time (${formatDuration(transfer)}) on fetching data from each other`,
  evidence: ({ prefixes, share }, _, limits) => [
    {
      text: `${percent(share)} of transfer and computation`,
      from: named(daskTaskTable.col.transfer_us),
      value: share,
      threshold: limits.share,
    },
    ...shown(
      prefixes.toSorted((a, b) => b.transfer_seconds - a.transfer_seconds),
      4,
    ).flatMap(({ prefix, transfer_seconds, seconds }) =>
      transfer_seconds === 0
        ? []
        : [
            {
              text: `${prefix}: ${formatDuration(transfer_seconds)} of transfers, ${formatDuration(seconds)} of computation`,
              from: named(daskTaskTable.col.transfer_us),
              value: transfer_seconds,
            },
          ],
    ),
  ],
  advise:
    'Use fewer workers with more threads each: threads of one worker share data. Avoid shuffles and rechunks, reduce data before they are combined, and keep chunks that belong together on one worker.',
  confidence: high('reported by the workers'),
});
