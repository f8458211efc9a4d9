import { formatDuration } from '../../base/duration.ts';
import { cpusFigure, percent } from '../../base/words.ts';
import { sampled } from './shared/confidence.ts';
import { figuresOfUse } from './shared/needs.ts';
import { rule } from './shared/rule.ts';
import { EDGE, littleUse, USE_OVER_TIME, useOverTime } from './shared/use-over-time.ts';

export default rule({
  id: 'slow-end',
  title: 'a long end with little use',
  help: 'In 15 % of its duration or more, at the end, the job used less than a fifth of the CPUs (with GPUs: of the GPUs) that are usual in the rest.',
  kind: 'waste',
  order: 333,
  needs: [figuresOfUse],
  overTime: USE_OVER_TIME,
  thresholds: EDGE,
  when(facts, limits) {
    const use = useOverTime(facts);
    const found = use && littleUse({ ...use, busy: use.busy.toReversed() }, facts.summary.wall_seconds, limits);
    return found === undefined ? [] : [{ ...found, resource: use!.resource }];
  },
  severity: 'advice',
  say: ({ seconds, used, rest, resource }, { summary }) =>
    `${formatDuration(seconds)} at the end (${percent(seconds / summary.wall_seconds)}) had little use: ${cpusFigure(used)} ${resource}s busy, ${cpusFigure(rest)} in the rest`,
  evidence: ({ seconds, used, rest, resource }, { summary }, limits) => [
    {
      text: `end: ${formatDuration(seconds)} of ${formatDuration(summary.wall_seconds)}`,
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
  advise:
    'See what the job does last: writing results from one process, copying or packing files, waiting for one straggler. Do it in a smaller job of its own that begins when this one ends, or in parallel.',
  confidence: (_, { nodes }) => sampled(nodes[0]?.samples),
});
