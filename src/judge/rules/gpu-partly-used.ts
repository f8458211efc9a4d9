import { greatest, smallest } from '../../base/extremes.ts';
import { count, figure, percent } from '../../base/readable.ts';
import { gpuTable } from '../../sources/tables.ts';
import { isIdle } from '../facts/stragglers.ts';
import type { Evidence, GpuReport } from '../report-schema.ts';
import { cardList, cardName, ownCards, workingCards } from './shared/cards.ts';
import { sampled } from './shared/confidence.ts';
import { shown } from './shared/evidence.ts';
import { gpuUtilization } from './shared/needs.ts';
import { named, rule } from './shared/rule.ts';

export default rule({
  id: 'gpu-partly-used',
  title: 'some of several GPUs hardly used',
  help: 'Of several GPUs that worked, some were busy less than 10 % of the time while others were busy at least five times as much, and for half of the time. gpu-unused reports GPUs that never did anything.',
  kind: 'waste',
  order: 222,
  needs: [
    ...gpuUtilization,
    {
      what: 'at least two GPUs that did some work',
      has: (facts) => workingCards(facts).length > 1,
      otherwise: (facts) => ({
        skipped: ownCards(facts).every((g) => isIdle(g)) ? 'no GPU did any work' : 'the job used one GPU',
      }),
    },
  ],
  thresholds: {
    /** Mean utilisation (0 to 1) below which a GPU was hardly used. */
    little: 0.1,
    /** Mean utilisation of another GPU of the job. */
    much: 0.5,
  },
  when(facts, { little, much }) {
    const cards = workingCards(facts).filter((g) => g.utilization_mean !== undefined);
    if (cards.length < 2 || greatest(cards.map((g) => g.utilization_mean!)) < much) return [];
    const hardly = cards.filter((g) => g.utilization_mean! < little);
    return hardly.length === 0 ? [] : [{ cards, hardly, busy: cards.filter((g) => g.utilization_mean! >= much) }];
  },
  severity: 'advice',
  say({ cards, hardly }, facts) {
    const most = greatest(hardly.map((g) => g.utilization_mean!));
    const were = hardly.length === 1 ? 'was' : 'were';
    return `${hardly.length} of ${cards.length} GPUs ${were} busy ${percent(most)} of the time or less: ${cardList(facts, hardly)}`;
  },
  evidence({ hardly, busy }, _, { little }) {
    const line = (g: GpuReport): Evidence => ({
      text: `${cardName(g)}: ${percent(g.utilization_mean)} busy, ${percent(g.utilization_max)} at most`,
      from: named(gpuTable.col.utilization_percent),
      node: g.node,
      gpu: g.gpu,
      value: g.utilization_mean!,
      threshold: little,
    });
    const hours = hardly.reduce((sum, g) => sum + g.recorded_seconds * (1 - g.utilization_mean!), 0) / 3600;
    return [
      ...shown(hardly).map(line),
      line(busy[0]!),
      { text: `${figure(hours)} GPU-hours unused`, from: 'job.json' },
    ];
  },
  advise: ({ busy }) =>
    `Ask for ${count(busy.length, 'GPU')}, or divide the work so that all cards have some; work that needs little of a card can share one (MPS, a MIG slice).`,
  confidence: ({ hardly }) => sampled(smallest(hardly.map((g) => g.samples))),
});
