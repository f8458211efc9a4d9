import { stated } from '../../base/stated.ts';
import type { Material } from '../../query/material.ts';
import type { Span } from '../../query/spans/span.ts';
import { spansOf } from '../../query/spans/spans.ts';
import type { JobSpans } from '../api.ts';

/** More of a kind are too narrow to be seen: the longest are told of. */
const MOST_SPANS = 600;
const MOST_FIGURES = 2000;

/** Steps, phases, operations and figures of merit of a job. */
export function jobSpansOf(material: Material): JobSpans {
  let left = 0;
  const spans = (['step', 'phase', 'operation'] as const).flatMap((kind) => {
    const all = spansOf(material, kind);
    left += Math.max(0, all.length - MOST_SPANS);
    return longest(all).map(({ name, node, from, to }) => ({ kind, name, from, to, ...stated({ node }) }));
  });
  const figures = material.markers.filter(({ action }) => action === 'fom').slice(-MOST_FIGURES);
  return {
    spans,
    left_out: left,
    figures: figures.map(({ name, node, time, value }) => ({ name, node, time, ...stated({ value }) })),
  };
}

function longest(spans: Span[]): Span[] {
  if (spans.length <= MOST_SPANS) return spans;
  return spans
    .toSorted((a, b) => b.to - b.from - (a.to - a.from))
    .slice(0, MOST_SPANS)
    .sort((a, b) => a.from - b.from);
}
