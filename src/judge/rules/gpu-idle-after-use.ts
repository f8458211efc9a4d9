import { formatDuration } from '../../base/duration.ts';
import { greatest, smallest } from '../../base/extremes.ts';
import { figure, percent } from '../../base/readable.ts';
import type { ColumnSeries } from '../../query/series/series.ts';
import { gpuTable } from '../../sources/tables.ts';
import { IDLE_UTILIZATION } from '../facts/stragglers.ts';
import type { Evidence, GpuReport } from '../report-schema.ts';
import gpuLow from './gpu-low.ts';
import { cardList, cardName, workingCards } from './shared/cards.ts';
import { sampled } from './shared/confidence.ts';
import { shown } from './shared/evidence.ts';
import { gpuUtilization } from './shared/needs.ts';
import { named, rule } from './shared/rule.ts';

const { utilization_percent } = gpuTable.col;

const thresholds = {
  /** Utilisation (0 to 1) below which a GPU did nothing. */
  idle: IDLE_UTILIZATION,
  /** Share of the job’s duration, up to its end, that the GPU did nothing. */
  share: 0.2,
  /** Seconds, up to the job’s end, that the GPU did nothing. */
  seconds: 20,
};

interface Left {
  card: GpuReport;
  /** Seconds until the end. */
  seconds: number;
  share: number;
  /** How long it had been in use. */
  used: number;
}

/** Number of steps into which the time is divided. */
const STEPS = 200;

export default rule({
  id: 'gpu-idle-after-use',
  title: 'GPUs that were no longer used',
  help: 'A GPU worked, and then did nothing for the last fifth of the job or more (at least 20 s). Where all cards did nothing at the end, and were hardly used on average, gpu-low says so instead.',
  kind: 'waste',
  order: 215,
  needs: gpuUtilization,
  overTime: [utilization_percent],
  thresholds,
  when(facts, limits) {
    // a card that was busy in all but a twentieth of the time has no such end: statistics tell that
    const perhaps = workingCards(facts, limits.idle).filter(
      (g) => (g.utilization_p05 ?? 0) < limits.idle && g.recorded_seconds * limits.share > 0,
    );
    if (perhaps.length === 0) return [];
    const judgement = facts.judgedBy(gpuLow);
    if (Array.isArray(judgement) && judgement.length > 0) return { skipped: 'the cards were hardly used at any time' };
    const series = facts.series(utilization_percent, { points: STEPS });
    const left = perhaps.flatMap((card) => {
      const own = series.find(({ node, keys }) => node === card.node && keys.gpu === card.gpu);
      return own === undefined ? [] : idleEnd(card, own, limits);
    });
    return left.length === 0 ? [] : [left];
  },
  severity: 'advice',
  say(left, facts) {
    const cards = left.map(({ card }) => card);
    const longest = greatest(left.map(({ seconds }) => seconds));
    const which = cards.length === 1 ? `GPU ${cards[0]!.gpu} of ${cards[0]!.node} was` : `${cards.length} GPUs were`;
    const names = cards.length === 1 ? '' : `: ${cardList(facts, cards)}`;
    return `${which} no longer used for the last ${formatDuration(longest)} of the job${names}`;
  },
  evidence(left, _, { share: threshold }) {
    const hours = left.reduce((sum, { seconds }) => sum + seconds, 0) / 3600;
    return [
      ...shown(left).map(
        ({ card, seconds, share, used }): Evidence => ({
          text: `${cardName(card)}: in use for ${formatDuration(used)}, then idle for ${formatDuration(seconds)} (${percent(share)} of the time)`,
          from: named(utilization_percent),
          node: card.node,
          gpu: card.gpu,
          value: share,
          threshold,
        }),
      ),
      { text: `${figure(hours)} GPU-hours unused`, from: 'job.json' },
    ];
  },
  advise:
    'End the job when the GPUs have done their work: run what comes after it (evaluation, copying, compressing) in a job without GPUs. Where only some cards are done early, divide the work differently.',
  confidence: (left) => sampled(smallest(left.map(({ card }) => card.samples))),
});

function idleEnd(
  card: GpuReport,
  { time, max, step }: ColumnSeries,
  { idle, share, seconds }: typeof thresholds,
): Left[] {
  let last = max.length - 1;
  while (last >= 0 && max[last]! < idle * 100) last--;
  const steps = max.length - 1 - last;
  const whole = (time.at(-1)! + step - time[0]!) / 1e6;
  const rest = Math.min(card.recorded_seconds, (steps * step) / 1e6);
  return last < 0 || rest < seconds || rest < share * whole
    ? []
    : [{ card, seconds: rest, share: rest / whole, used: whole - rest }];
}
