import { formatDuration } from '../../base/duration.ts';
import { count, figure } from '../../base/readable.ts';
import type { Span } from '../../query/spans/span.ts';
import { markerTable } from '../../sources/tables.ts';
import { high, medium } from './shared/confidence.ts';
import { named, rule } from './shared/rule.ts';
import { middle } from './shared/similar-processes.ts';

const thresholds = {
  /** Times that a phase ran. */
  times: 6,
  /** Median duration in the last third, as a multiple of that in the first third. */
  slower: 1.3,
  /** How well the order of durations follows the order of time (Spearman’s correlation, −1 to 1). */
  steady: 0.8,
  /** Seconds that the phase took in total. */
  seconds: 3,
  /** Share of the job’s duration that the phase took in total. */
  duration: 0.1,
};

interface Slower {
  name: string;
  kind: Span['kind'];
  seconds: number[];
  first: number;
  last: number;
  steady: number;
}

/** "epoch 1", "epoch 2" are the same phase again. */
const kindOf = ({ name, node = '' }: Span): string => `${node} ${name.replaceAll(/\d+(\.\d+)?/g, '#')}`;

export default rule({
  id: 'phases-slower',
  title: 'phases that get slower and slower',
  help: 'A phase that took place at least six times (`tacho mark`; an operation or a step of the scheduler likewise; “epoch 1” and “epoch 2” are the same phase) took longer and longer: the last third 1.3 times as long as the first.',
  kind: 'trouble',
  order: 337,
  needs: [
    {
      what: 'phases, operations or steps that took place several times',
      columns: [markerTable.col.name],
      has: (facts, { times }) => groupsOf(facts.spans).some(({ length }) => length >= times!),
      otherwise: { skipped: 'no phase took place often enough' },
    },
  ],
  thresholds,
  when(facts, limits) {
    const { wall_seconds: wall } = facts.summary;
    return groupsOf(facts.spans)
      .flatMap((spans): Slower[] => {
        const seconds = spans.map(({ from, to }) => (to - from) / 1e6);
        const all = seconds.reduce((sum, one) => sum + one, 0);
        if (seconds.length < limits.times || all < limits.seconds || all < limits.duration * wall) return [];
        const third = Math.floor(seconds.length / 3);
        const [first, last] = [middle(seconds.slice(0, third)), middle(seconds.slice(-third))];
        const steady = followsTime(seconds);
        if (!(last >= limits.slower * first) || steady < limits.steady) return [];
        const { name, kind } = spans[0]!;
        return [{ name: name.replaceAll(/\d+/g, '…'), kind, seconds, first, last, steady }];
      })
      .sort((a, b) => b.last - b.first - (a.last - a.first))
      .slice(0, 2);
  },
  severity: 'advice',
  say: ({ name, kind, seconds, first, last }) =>
    `The ${kind} “${name}” became slower: ${formatDuration(first)} at first, ${formatDuration(last)} at last (${count(seconds.length, 'time')})`,
  evidence: ({ seconds, first, last, steady }, _, limits) => [
    {
      text: `the last third took ${figure(last / first)} times as long as the first (medians)`,
      from: named(markerTable.col.name),
      value: last / first,
      threshold: limits.slower,
    },
    {
      text: `in order of time: ${seconds.length > 8 ? [...seconds.slice(0, 4).map(formatDuration), '…', ...seconds.slice(-4).map(formatDuration)].join(', ') : seconds.map(formatDuration).join(', ')}`,
      from: named(markerTable.col.name),
      value: steady,
      threshold: limits.steady,
    },
  ],
  advise:
    'Something grows with the number of rounds: lists that are searched or copied, files that are written from the beginning again, memory, fragmented caches. If the problem itself grows, this is as it should be.',
  confidence: ({ seconds }) =>
    seconds.length >= 10
      ? high(`${seconds.length} durations, in rising order`)
      : medium(`only ${seconds.length} durations`),
});

/** Phases that took place again and again, each with its times in order. */
function groupsOf(spans: (kind: Span['kind']) => Span[]): Span[][] {
  return (['phase', 'operation', 'step'] as const).flatMap((kind) => {
    const over = spans(kind).filter(({ open, to, from }) => open !== true && to > from);
    return [...Map.groupBy(over, kindOf).values()];
  });
}

/** Spearman’s rank correlation with time; equal values share their rank. */
function followsTime(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const ranks = values.map((value) => (sorted.indexOf(value) + sorted.lastIndexOf(value)) / 2);
  const center = (values.length - 1) / 2;
  let [both, times, all] = [0, 0, 0];
  for (const [i, rank] of ranks.entries()) {
    both += (i - center) * (rank - center);
    times += (i - center) ** 2;
    all += (rank - center) ** 2;
  }
  return all === 0 ? 0 : both / Math.sqrt(times * all);
}
