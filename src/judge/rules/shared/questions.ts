import { type Material, matching } from '../../../query/material.ts';
import { commandOf } from '../../../query/processes/columns.ts';
import { operationsOf } from '../../../query/processes/operations.ts';
import type { ColumnSeries, SeriesOptions } from '../../../query/series/series.ts';
import { phaseSpans } from '../../../query/spans/phases.ts';
import type { Span, SpanKind } from '../../../query/spans/span.ts';
import type { Statistics } from '../../../recording/sealed/statistics.ts';
import type { KeyValues, TableColumn } from '../../../table/table.ts';

/** What a rule may ask beyond the facts of the report; each is worked out when it is asked for. */
export interface Questions {
  /** A column over the job: one for each node and key that has values. */
  statistics<K extends string>(column: TableColumn<string, string, K>, keys?: KeyValues<K>): NodeStatistics[];
  /** A column over time: count, least, mean and greatest of each step; counters as rates. See `overTime`. */
  series<K extends string>(column: TableColumn<string, string, K>, options?: SeriesOptions<K>): ColumnSeries[];
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
  spans: (kind) => SPANS[kind](material).sort((a, b) => a.from - b.from),
});

const endOf = ({ job, now }: Material): number => job.end ?? now;

const SPANS: Record<SpanKind, (material: Material) => Span[]> = {
  job: (material) => [
    { kind: 'job', name: material.job.id, from: material.job.start, to: endOf(material), tags: material.job.tags },
  ],
  step: (material) =>
    (material.job.steps ?? []).flatMap(({ id, name = id, start, end = endOf(material) }): Span[] =>
      start === undefined ? [] : [{ kind: 'step', name, from: start, to: end, tags: {} }],
    ),
  phase: ({ job, markers, now }) => phaseSpans(job, markers, now),
  operation: ({ processes }) =>
    (processes === undefined ? [] : operationsOf(processes)).flatMap(({ name, tags, runs }) =>
      runs.map(([from, to]): Span => ({ kind: 'operation', name, from, to, tags: Object.fromEntries(tags) })),
    ),
  process: (material) => {
    const { processes } = material;
    return Array.from({ length: processes?.length ?? 0 }, (_, i): Span => {
      const { node, start, end } = processes!;
      const span = {
        kind: 'process',
        name: commandOf(processes!, i),
        node: node[i]!,
        from: start[i]!,
        tags: {},
      } as const;
      return Number.isNaN(end[i]) ? { ...span, to: endOf(material), open: true } : { ...span, to: end[i]! };
    });
  },
  task: () => [],
};
