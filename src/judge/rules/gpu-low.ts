import { smallest } from '../../base/extremes.ts';
import { percent } from '../../base/words.ts';
import { gpuTable } from '../../sources/tables.ts';
import { gpuMean } from '../use/seen.ts';
import { workingCards } from './shared/cards.ts';
import { sampled } from './shared/confidence.ts';
import { gpuUtilization } from './shared/needs.ts';
import { named, rule } from './shared/rule.ts';

export default rule({
  id: 'gpu-low',
  title: 'GPUs that were hardly used',
  help: 'The GPUs that did work were busy for less than a quarter of the time, on average.',
  kind: 'waste',
  order: 220,
  needs: gpuUtilization,
  thresholds: {
    /** Below this mean it is worth asking why; healthy training and simulation codes run well above one half. */
    modest: 0.25,
    /** Below this a GPU is mostly waiting: a smaller card, or part of one, would do the same work. */
    low: 0.15,
  },
  when(facts, { modest }) {
    const cards = workingCards(facts);
    const used = gpuMean(cards, 'utilization_mean');
    return used === undefined || used >= modest ? [] : [{ cards, used }];
  },
  severity: ({ used }, _, { low }) => (used < low ? 'warning' : 'advice'),
  say: ({ cards, used }) =>
    `${cards.length === 1 ? 'The GPU was' : `The ${cards.length} GPUs in use were`} busy ${percent(used)} of the time`,
  evidence: ({ used }, _, { modest }) => [
    {
      text: `mean utilisation ${percent(used)}`,
      from: named(gpuTable.col.utilization_percent),
      value: used,
      threshold: modest,
    },
  ],
  advise:
    'Give the card more to do at once (larger batches, several processes on one card), feed it faster (data loading, transfers), or ask for fewer or smaller cards (a MIG slice).',
  confidence: ({ cards }, facts) => sampled(facts, smallest(cards.map((g) => g.samples))),
});
