import { formatDuration } from '../../base/duration.ts';
import { greatest, smallest } from '../../base/extremes.ts';
import { energy, percent } from '../../base/readable.ts';
import type { ColumnSeries } from '../../query/series/series.ts';
import { gpuTable, powerTable } from '../../sources/tables.ts';
import { IDLE_UTILIZATION } from '../facts/stragglers.ts';
import type { Evidence, GpuReport } from '../report-schema.ts';
import { gpuMean } from '../use/recorded-time.ts';
import { cardEvidence, workingCards } from './shared/cards.ts';
import { sampled } from './shared/confidence.ts';
import { gpuUtilization } from './shared/needs.ts';
import { type FindingText, hit, named, type RuleContext, ruleOfCases } from './shared/rule.ts';

const { utilization_percent, energy_mj } = gpuTable.col;

const thresholds = {
  /** Mean utilisation (0 to 1) below which there is a finding; healthy codes reach well above one half. */
  modest: 0.25,
  /** Mean utilisation below which it is a warning. */
  low: 0.15,
  /** Utilisation (0 to 1) below which a GPU did nothing. */
  idle: IDLE_UTILIZATION,
  /** Share of the time without a break in which no GPU did anything; then that is reported instead. */
  stretch: 0.3,
  /** Mean utilisation in the rest of the time, for the same. */
  busy: 0.5,
};

export default ruleOfCases({
  id: 'gpu-low',
  title: 'GPUs that were hardly used',
  help: 'The GPUs that did work were busy for less than a quarter of the time, on average. Where all of them did nothing for a third of the time or more without a break, and worked well in the rest, that is reported instead.',
  kind: 'waste',
  order: 220,
  needs: gpuUtilization,
  overTime: [utilization_percent],
  thresholds,
  when(facts, limits) {
    const cards = workingCards(facts, limits.idle);
    const used = gpuMean(cards, 'utilization_mean');
    if (used === undefined || used >= limits.modest) return [];
    const idle = idleStretch(facts, cards, limits);
    return [idle === undefined ? hit(alwaysLow, { cards, used }) : hit(lowAtTimes, { cards, used, ...idle })];
  },
});

interface Low {
  cards: GpuReport[];
  used: number;
}

const meanEvidence = (value: number, threshold: number): Evidence => ({
  text: `mean utilisation ${percent(value)}`,
  from: named(utilization_percent),
  value,
  threshold,
});

const alwaysLow: FindingText<Low, typeof thresholds> = {
  severity: ({ used }, _, { low }) => (used < low ? 'warning' : 'advice'),
  say: ({ cards, used }) => `${subject(cards)} busy ${percent(used)} of the time`,
  evidence: ({ cards, used }, _, { modest }) => [meanEvidence(used, modest), ...cardEvidence(cards)],
  advise:
    'Give the card more to do at once (larger batches, several processes on one card), feed it faster (data loading, transfers), or ask for fewer or smaller cards (a MIG slice).',
  confidence: ({ cards }) => sampled(smallest(cards.map((g) => g.samples))),
};

const subject = (cards: readonly GpuReport[]): string =>
  cards.length === 1 ? 'The GPU was' : `The ${cards.length} GPUs in use were`;

/** The longest time in which no card did anything. */
interface Stretch {
  seconds: number;
  from: number;
  to: number;
  /** Of the time that was seen. */
  share: number;
  when: 'at the start' | 'at the end' | 'in between';
  /** How busy they were in the rest. */
  rest: number;
}

const lowAtTimes: FindingText<Low & Stretch, typeof thresholds> = {
  ...alwaysLow,
  say: ({ cards, rest, seconds, when }) =>
    `${subject(cards)} idle for ${formatDuration(seconds)} ${when}, and ${percent(rest)} busy in the rest of the time`,
  evidence: (lowUse, facts, limits) => [
    meanEvidence(lowUse.used, limits.modest),
    {
      text: `no card did anything in ${percent(lowUse.share)} of the time, without a break`,
      from: named(utilization_percent),
      value: lowUse.share,
      threshold: limits.stretch,
    },
    ...drawnMeanwhile(facts, lowUse),
    ...cardEvidence(lowUse.cards),
  ],
  advise: ({ when }) =>
    when === 'at the end'
      ? 'End the job when the GPUs have done their work: run what comes after it (evaluation, copying, compressing) in a job without GPUs.'
      : 'Do what needs no GPU (staging, preparing or checking data) in a job of its own, before the one that has them.',
};

/** Number of steps into which the time is divided. */
const STEPS = 200;

/** Samples are read only where the statistics say that the cards were busy at times. */
function idleStretch(
  facts: RuleContext,
  cards: readonly GpuReport[],
  { idle, stretch, busy }: typeof thresholds,
): Stretch | undefined {
  if (!cards.every((g) => (g.utilization_p95 ?? 0) >= busy)) return undefined;
  const isOwn = ({ node, keys }: ColumnSeries): boolean => cards.some((g) => g.node === node && g.gpu === keys.gpu);
  const all = facts.series(utilization_percent, { points: STEPS }).filter(isOwn);
  const [step] = all.map((series) => series.step);
  if (step === undefined) return undefined;
  const highest = new Map<number, number>();
  for (const { time, max } of all)
    time.forEach((moment, i) => {
      highest.set(moment, Math.max(highest.get(moment) ?? 0, max[i]!));
    });
  const moments = [...highest.keys()].sort((a, b) => a - b);
  let [from, to, begin] = [0, 0, 0];
  moments.forEach((moment, i) => {
    if (highest.get(moment)! >= idle * 100) begin = i + 1;
    else if (i + 1 - begin > to - from) [from, to] = [begin, i + 1];
  });
  const share = (to - from) / moments.length;
  const used = gpuMean(cards, 'utilization_mean')!;
  const rest = used / (1 - share);
  if (share < stretch || rest < busy) return undefined;
  const when = to === moments.length ? 'at the end' : from === 0 ? 'at the start' : 'in between';
  const recordedSeconds = greatest(cards.map((g) => g.recorded_seconds));
  return { from: moments[from]!, to: moments[to - 1]! + step, seconds: recordedSeconds * share, share, when, rest };
}

/** What the nodes drew while the cards did nothing. */
function drawnMeanwhile(facts: RuleContext, { from, to }: Stretch): Evidence[] {
  const joules = facts.use('energy', from, to)?.amount;
  if (joules === undefined) return [];
  return [
    { text: `${energy(joules)} were drawn meanwhile`, from: named(powerTable.col.energy_mj, energy_mj), value: joules },
  ];
}
