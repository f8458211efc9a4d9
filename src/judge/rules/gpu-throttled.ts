import { greatest } from '../../base/extremes.ts';
import { nodeList } from '../../base/node-list.ts';
import { count, figure, percent } from '../../base/readable.ts';
import { gpuTable } from '../../sources/tables.ts';
import type { GpuReport } from '../report-schema.ts';
import { cardList, cardName, ownCards } from './shared/cards.ts';
import { medium, sampled } from './shared/confidence.ts';
import { shown } from './shared/evidence.ts';
import { gpus, ownGpus } from './shared/needs.ts';
import { named, rule } from './shared/rule.ts';

type Reason = 'throttled_thermal' | 'throttled_power';

export default rule({
  id: 'gpu-throttled',
  title: 'GPUs slowed down by heat or power',
  help: 'A GPU lowered its clock because of its temperature or its power limit in more than 5 % of the samples.',
  kind: 'trouble',
  order: 240,
  needs: [
    gpus,
    ownGpus,
    {
      what: 'why its GPUs slow down',
      columns: [gpuTable.col.throttled_thermal, gpuTable.col.throttled_power],
      has: (facts) => ownCards(facts).some((g) => (g.throttled_thermal ?? g.throttled_power) !== undefined),
      otherwise: { unmeasurable: 'the cards do not say why they slow down' },
    },
    {
      what: 'samples of them',
      // of a part between two samples nobody looked
      has: (facts) => ownCards(facts).some((g) => g.samples > 0),
      otherwise: { unmeasurable: 'no sample of the cards lies in this part of the job' },
    },
  ],
  thresholds: {
    /** Share of the samples in which a GPU was slowed down. */
    samples: 0.05,
  },
  when(facts, { samples }) {
    const cards = ownCards(facts).filter((g) => g.samples > 0);
    const hot = cards.filter((g) => (g.throttled_thermal ?? 0) > samples);
    const limited = cards.filter((g) => (g.throttled_power ?? 0) > samples && !hot.includes(g));
    const hits: { cards: GpuReport[]; why: Reason }[] = [
      { cards: hot, why: 'throttled_thermal' },
      { cards: limited, why: 'throttled_power' },
    ];
    return hits.filter((one) => one.cards.length > 0);
  },
  severity: ({ why }) => (why === 'throttled_thermal' ? 'warning' : 'info'),
  say: ({ cards, why }, facts) =>
    why === 'throttled_thermal'
      ? `Heat slowed down ${count(cards.length, 'GPU')}: ${cardList(facts, cards)}`
      : `${count(cards.length, 'GPU')} ran at the power limit: ${cardList(facts, cards)}`,
  evidence: ({ cards, why }, _, { samples }) =>
    shown(cards).map((g) => ({
      text: `${cardName(g)}: in ${percent(g[why])} of the samples${
        g.temperature_max_celsius === undefined ? '' : `, up to ${figure(g.temperature_max_celsius)} °C`
      }${g.straggler === undefined ? '' : `, ${g.straggler.at(-1)}`}`,
      from: named(gpuTable.col.throttle),
      node: g.node,
      gpu: g.gpu,
      value: g[why]!,
      threshold: samples,
    })),
  advise: ({ cards, why }) =>
    why === 'throttled_thermal'
      ? `Tell the administrators: cooling needs a look. Until then leave out ${nodeList([...new Set(cards.map((g) => g.node))])} (--exclude).`
      : 'Usual for dense arithmetic at full load; clocks vary with it, so compare timings with care.',
  confidence: ({ cards, why }, _, { samples }) =>
    greatest(cards.map((g) => g[why]!)) < samples * 2
      ? medium('only just above the threshold')
      : sampled(cards[0]!.samples),
});
