import { type AskedSeries, type Material, matching } from '../../../query/material.ts';
import type { ColumnSeries } from '../../../query/series/series.ts';
import type { Span, SpanKind } from '../../../query/spans/span.ts';
import { spansOf } from '../../../query/spans/spans.ts';
import type { BoundedUse } from '../../../query/use/curve.ts';
import { type Resource, usedBetween } from '../../../query/use/use.ts';
import type { Statistics } from '../../../recording/sealed/statistics.ts';
import type { KeyValues, TableColumn } from '../../../table/table.ts';

/** What a rule may ask beyond the facts of the report; each is worked out when it is asked for. */
export interface Questions {
  /** A column over the job: one for each node and key that has values. */
  statistics<K extends string>(column: TableColumn<string, string, K>, keys?: KeyValues<K>): NodeStatistics[];
  /** A column over time: count, least, mean and greatest of each step; counters as rates. Of the columns of `overTime`. */
  series<K extends string>(column: TableColumn<string, string, K>, options?: AskedSeries<K>): ColumnSeries[];
  /** What the job used up between two moments, by samples: seconds of CPUs or GPUs, joules, bytes. */
  use(resource: Resource, from: number, to: number): BoundedUse | undefined;
  /** What the job is made of, by its start. */
  spans(kind: SpanKind): Span[];
}

export interface NodeStatistics {
  node: string;
  keys: Readonly<Record<string, string>>;
  statistics: Statistics;
}

export const questionsOf = (material: Material): Questions => ({
  statistics: ({ table, name }, wanted) =>
    material.nodes.flatMap((node) =>
      matching(node, table, wanted).flatMap(({ keys, columns }) => {
        const statistics = columns[name];
        return statistics === undefined || statistics.count === 0 ? [] : [{ node: node.node, keys, statistics }];
      }),
    ),
  series: (column, options) => material.series?.(column, options) ?? [],
  use: (resource, from, to) => material.sampled && usedBetween(material.sampled(), resource, [[from, to]]),
  spans: (kind) => spansOf(material, kind),
});
