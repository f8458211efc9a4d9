import { greatest, smallest } from '../../base/extremes.ts';
import { listed, percent } from '../../base/readable.ts';
import { gpuTable } from '../../sources/tables.ts';
import { isIdle } from '../facts/stragglers.ts';
import { FEWEST_PEERS } from '../outliers/peers.ts';
import type { Facts, GpuReport } from '../report-schema.ts';
import { comparable } from '../use/recorded-time.ts';
import gpuThrottled from './gpu-throttled.ts';
import { cardName } from './shared/cards.ts';
import { medium, sampled } from './shared/confidence.ts';
import { shown } from './shared/evidence.ts';
import { type FindingText, hit, named, ruleOfCases } from './shared/rule.ts';

const active = ({ gpus }: Facts): GpuReport[] => gpus.filter((g) => g.own !== false && !isIdle(g));
const peers = (facts: Facts): GpuReport[] => comparable(active(facts), (g) => g.recorded_seconds);

export default ruleOfCases({
  id: 'gpu-imbalance',
  title: 'GPUs unlike the others',
  help: 'A GPU’s utilisation, power or clock lies far from the median of the job’s GPUs. Idle GPUs, and those that heat slows down, are reported separately.',
  kind: 'waste',
  order: 250,
  needs: [
    {
      what: 'at least two GPUs that did some work',
      has: (facts) => active(facts).length > 1,
      otherwise: (facts) => ({ skipped: active(facts).length === 0 ? 'no GPU did any work' : 'the job used one GPU' }),
    },
    {
      what: 'utilisation, power or clock of the same time; of four GPUs to name one',
      columns: [gpuTable.col.utilization_percent, gpuTable.col.power_watts, gpuTable.col.clock_mhz],
      has: (facts) => peers(facts).length > 1,
      otherwise: { unmeasurable: 'the GPUs were recorded for different times' },
    },
  ],
  thresholds: {
    /** Difference of mean utilisation (0 to 1) between two or three GPUs. */
    apart: 0.25,
    /** Temperature from which the advice is about cooling; most data-centre cards slow down a little above. */
    hot_celsius: 90,
  },
  when(facts, { apart, hot_celsius }) {
    const cards = peers(facts);
    const { samples } = gpuThrottled.thresholds;
    const unlike = cards.filter((g) => g.straggler !== undefined && (g.throttled_thermal ?? 0) <= samples);
    if (unlike.length > 0) {
      const isHot = unlike.some((g) => (g.temperature_max_celsius ?? 0) >= hot_celsius);
      return [hit(oneOfMany, { cards, unlike, isHot })];
    }
    if (cards.length >= FEWEST_PEERS) return [];
    const used = cards.map((g) => g.utilization_mean).filter((u) => u !== undefined);
    return used.length < 2 || greatest(used) - smallest(used) < apart ? [] : [hit(fewThatDiffer, cards)];
  },
});

const oneOfMany: FindingText<{ cards: GpuReport[]; unlike: GpuReport[]; isHot: boolean }> = {
  severity: 'warning',
  say({ cards, unlike }) {
    const nodes = [...new Set(unlike.map((g) => g.node))];
    const whole = nodes.filter((node) => cards.every((g) => g.node !== node || g.straggler !== undefined));
    const names =
      whole.length === nodes.length && nodes.length < unlike.length
        ? `all of ${listed(nodes)}`
        : listed(unlike.map(cardName));
    return `${unlike.length} of ${cards.length} GPUs differ from the rest: ${names}, ${unlike[0]!.straggler![0]}`;
  },
  evidence: ({ unlike }) =>
    shown(unlike).map((g) => ({
      text: `${cardName(g)}: ${g.straggler!.join('; ')}`,
      from: gpuTable.name,
      node: g.node,
      gpu: g.gpu,
    })),
  advise: ({ isHot }) =>
    isHot
      ? 'They run hot: tell the administrators, and leave these nodes out until they are cooled (--exclude).'
      : 'Compare their clocks, temperatures and power. A card that stays slow with other jobs is for the administrators; else divide the work differently.',
  confidence: ({ unlike }) => sampled(smallest(unlike.map((g) => g.samples))),
};

const fewThatDiffer: FindingText<GpuReport[]> = {
  severity: 'advice',
  say: (cards) => `The GPUs differ: ${cards.map((g) => percent(g.utilization_mean)).join(', ')} busy`,
  evidence: (cards) =>
    cards.map((g) => ({
      text: `${cardName(g)}: ${percent(g.utilization_mean)}`,
      from: named(gpuTable.col.utilization_percent),
      node: g.node,
      gpu: g.gpu,
    })),
  advise: 'Divide the work more evenly between the cards.',
  confidence: medium('too few GPUs to say which one is unusual'),
};
