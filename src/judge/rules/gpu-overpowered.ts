import { greatest, smallest } from '../../base/extremes.ts';
import { percent } from '../../base/readable.ts';
import { formatBytes } from '../../base/size.ts';
import { gpuTable } from '../../sources/tables.ts';
import type { Evidence, GpuReport } from '../report-schema.ts';
import { gpuMean } from '../use/recorded-time.ts';
import { cardName, workingCards } from './shared/cards.ts';
import { sampled } from './shared/confidence.ts';
import { shown } from './shared/evidence.ts';
import { gpuUtilization } from './shared/needs.ts';
import { named, rule } from './shared/rule.ts';

const GIB = 2 ** 30;

export default rule({
  id: 'gpu-overpowered',
  title: 'GPUs larger than the work needs',
  help: 'GPUs with at least 24 GiB were busy less than 40 % of the time, at most 60 % in a sample, and used less than a fifth of their memory: a smaller card or a MIG slice would do the same work. Cards that were busier at times are left out.',
  kind: 'waste',
  order: 225,
  needs: [
    ...gpuUtilization,
    {
      what: 'their memory',
      columns: [gpuTable.col.memory_used_bytes, gpuTable.col.memory_total_bytes],
      has: (facts) => workingCards(facts).some((g) => (g.memory_max_bytes ?? g.memory_total_bytes) !== undefined),
      otherwise: { skipped: 'no GPU that did any work reports its memory' },
    },
  ],
  thresholds: {
    /** Bytes of memory from which a card is large. */
    large_bytes: 24 * GIB,
    /** Mean utilisation (0 to 1) below which a smaller card would do. */
    utilization: 0.4,
    /** Utilisation in the busiest 5 % of the samples, up to which a smaller card would do. */
    busiest: 0.6,
    /** Share of its memory below which a smaller card would do. */
    memory: 0.2,
  },
  when(facts, { large_bytes, utilization, busiest, memory }) {
    const cards = workingCards(facts);
    const large = (g: GpuReport): boolean =>
      (g.memory_total_bytes ?? 0) >= large_bytes &&
      g.memory_max_bytes !== undefined &&
      g.memory_max_bytes < memory * g.memory_total_bytes! &&
      (g.utilization_mean ?? 1) < utilization &&
      (g.utilization_p95 ?? 1) <= busiest;
    return cards.length > 0 && cards.every(large) ? [cards] : [];
  },
  severity: 'advice',
  say(cards) {
    const most = greatest(cards.map((g) => g.memory_max_bytes!));
    const whose = cards.length === 1 ? 'The GPU was' : `The ${cards.length} GPUs were`;
    return `${whose} larger than the work needs: busy ${percent(gpuMean(cards, 'utilization_mean'))}, ${formatBytes(most)} of ${formatBytes(cards[0]!.memory_total_bytes!)} used`;
  },
  evidence: (cards, _, { memory, utilization }) =>
    shown(cards).flatMap((g): Evidence[] => [
      {
        text: `${cardName(g)}${g.model === undefined ? '' : ` (${g.model})`}: busy ${percent(g.utilization_mean)}, in its busiest twentieth of the time ${percent(g.utilization_p95)}`,
        from: named(gpuTable.col.utilization_percent),
        node: g.node,
        gpu: g.gpu,
        value: g.utilization_mean!,
        threshold: utilization,
      },
      {
        text: `${cardName(g)}: ${formatBytes(g.memory_max_bytes!)} of ${formatBytes(g.memory_total_bytes!)} at most`,
        from: named(gpuTable.col.memory_used_bytes),
        node: g.node,
        gpu: g.gpu,
        value: g.memory_max_bytes!,
        threshold: memory * g.memory_total_bytes!,
      },
    ]),
  advise:
    'Ask for a smaller card or a MIG slice (--gres names them), or run several such jobs on one card. They start sooner, too.',
  confidence: (cards) => sampled(smallest(cards.map((g) => g.samples))),
});
