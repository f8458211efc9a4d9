import { formatDuration } from '../../../base/duration.ts';
import { cpusFigure, percent } from '../../../base/readable.ts';
import { sampled } from './confidence.ts';
import { figuresOfUse } from './needs.ts';
import { type Rule, rule } from './rule.ts';
import { EDGE, littleUse, USE_OVER_TIME, useOverTime } from './use-over-time.ts';

/** A rule about a long time of little use at one edge of the job. */
export function edgeRule(edge: 'start' | 'end', about: { order: number; advise: string }): Rule<typeof EDGE> {
  return rule({
    id: `slow-${edge}`,
    title: `a long ${edge} with little use`,
    help: `In 15 % of its duration or more, at the ${edge}, the job used less than a fifth of the CPUs (with GPUs: of the GPUs) that are usual in the rest.`,
    kind: 'waste',
    order: about.order,
    needs: [figuresOfUse],
    overTime: USE_OVER_TIME,
    thresholds: EDGE,
    when(facts, limits) {
      const use = useOverTime(facts, limits);
      if (use === undefined) return [];
      const busy = edge === 'start' ? use.busy : use.busy.toReversed();
      const littleUsed = littleUse({ ...use, busy }, facts.summary.wall_seconds, limits);
      return littleUsed === undefined ? [] : [{ ...littleUsed, resource: use.resource }];
    },
    severity: 'advice',
    say: ({ seconds, used, rest, resource }, { summary }) =>
      `${formatDuration(seconds)} at the ${edge} (${percent(seconds / summary.wall_seconds)}) had little use: ${cpusFigure(used)} ${resource}s busy, ${cpusFigure(rest)} in the rest`,
    evidence: ({ seconds, used, rest, resource }, { summary }, limits) => [
      {
        text: `${edge}: ${formatDuration(seconds)} of ${formatDuration(summary.wall_seconds)}`,
        from: resource,
        value: seconds / summary.wall_seconds,
        threshold: limits.duration,
      },
      {
        text: `${cpusFigure(used)} ${resource}s busy meanwhile, ${cpusFigure(rest)} in the rest`,
        from: resource,
        value: used / rest,
        threshold: limits.little,
      },
    ],
    advise: about.advise,
    confidence: (_, { nodes }) => sampled(nodes[0]?.samples),
  });
}
