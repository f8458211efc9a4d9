import type { DaskRun } from '../../../query/dask/dask-run.ts';
import { type AskedSeries, type Material, matching } from '../../../query/material.ts';
import type { PastSeries } from '../../../query/past.ts';
import { sampledSet } from '../../../query/processes/processes.ts';
import { processSeries } from '../../../query/processes/sampled.ts';
import type { ProcessSet } from '../../../query/processes/set.ts';
import type { AllThreads } from '../../../query/processes/threads.ts';
import type { World } from '../../../query/ranks/ranks.ts';
import type { ReportFigures } from '../../../query/report-columns.ts';
import type { ColumnSeries } from '../../../query/series/series.ts';
import type { Span, SpanKind } from '../../../query/spans/span.ts';
import { spansOf } from '../../../query/spans/spans.ts';
import type { BoundedUse } from '../../../query/use/curve.ts';
import { type Resource, rateInSteps, usedBetween } from '../../../query/use/use.ts';
import type { Figures } from '../../../recording/sealed/statistics.ts';
import type { KeyValues, TableColumn } from '../../../table/table.ts';
import { worldsIn } from '../../facts/ranks.ts';

/** What a rule may ask beyond the facts of the report; each is worked out when it is asked for. */
export interface Questions {
  /** A column over the job: one for each node and key that has values. Of SPREAD_COLUMNS also how values are spread. */
  statistics<T extends string, N extends string, K extends string>(
    column: TableColumn<T, N, K>,
    keys?: KeyValues<K>,
  ): NodeStatistics<ReportFigures<T, N>>[];
  /** A column over time: count, least, mean and greatest of each step; counters as rates. Of the columns of `overTime`. */
  series<K extends string>(column: TableColumn<string, string, K>, options?: AskedSeries<K>): ColumnSeries[];
  /** What the job used up between two moments, by samples: seconds of CPUs or GPUs, joules, bytes. */
  use(resource: Resource, from: number, to: number): BoundedUse | undefined;
  /** The same in each of so many equal steps of the job: CPUs or GPUs busy, watts, bytes a second; NaN where nobody knows. */
  useOverTime(resource: Resource, steps: number): number[] | undefined;
  /** What the job is made of, by its start. */
  spans(kind: SpanKind): Span[];
  /** Ranks that were started together, by their start, each with all its ranks. */
  worlds(): World[];
  /** All processes of the whole job, as they recorded themselves, else as sampling saw them; undefined of a part of the job. */
  allProcesses(): ProcessSet | undefined;
  /** Whether threads of these may have told of their end: processes recorded themselves. */
  hasThreads(): boolean;
  /** Those threads, which are read when they are first asked for; undefined where there are none. */
  allThreads(): AllThreads | undefined;
  /** Columns of one table in earlier jobs that were recorded into the same folder, the last one first; none when that is not known. */
  past(...columns: readonly TableColumn[]): PastSeries[];
  /** The Dask cluster of the job; undefined: it had none, or a part of the job is looked at. */
  daskRun(): DaskRun | undefined;
  /** The last word of a text column: one for each node and key that has one. */
  texts<K extends string>(column: TableColumn<string, string, K>, keys?: KeyValues<K>): NodeText[];
}

export interface NodeText {
  node: string;
  keys: Readonly<Record<string, string>>;
  text: string;
  /** The last row of the series, epoch microseconds. */
  end: number;
}

export interface NodeStatistics<F = Figures> {
  node: string;
  keys: Readonly<Record<string, string>>;
  statistics: F;
}

export const questionsOf = (material: Material): Questions => ({
  allProcesses: once(() => processesOf(material)),
  hasThreads: () => material.threads !== undefined,
  allThreads: () => material.threads?.(),
  daskRun: () => material.dask?.(),
  texts: ({ table, name }, wanted) =>
    material.nodes.flatMap((node) =>
      matching(node, table, wanted).flatMap(({ keys, texts, end }) => {
        const text = texts[name];
        return text === undefined || text === '' ? [] : [{ node: node.node, keys, text, end }];
      }),
    ),
  statistics: <T extends string, N extends string, K extends string>(
    { table, name }: TableColumn<T, N, K>,
    wanted?: KeyValues<K>,
  ) =>
    material.nodes.flatMap((node) =>
      matching(node, table, wanted).flatMap(({ keys, columns }) => {
        const statistics = columns[name] as ReportFigures<T, N> | undefined;
        return statistics === undefined || statistics.count === 0 ? [] : [{ node: node.node, keys, statistics }];
      }),
    ),
  past: (...columns) =>
    material.past?.(
      columns[0]!.table,
      columns.map(({ name }) => name),
    ) ?? [],
  series: (column, options) => material.series?.(column, options) ?? [],
  use: (resource, from, to) => material.sampled && usedBetween(material.sampled(), resource, [[from, to]]),
  useOverTime(resource, steps) {
    const [job] = spansOf(material, 'job');
    return material.sampled && job && rateInSteps(material.sampled(), resource, [job.from, job.to], steps);
  },
  spans: (kind) => spansOf(material, kind),
  worlds: () => worldsIn(material),
});

function processesOf(material: Material): ProcessSet | undefined {
  if (material.processes !== undefined || material.range !== undefined) return material.processes;
  const sampled = material.nodes.map((node) => ({ node: node.node, agent: node.agent, series: processSeries(node) }));
  return sampledSet(material.job, material.path, sampled);
}

/** Several rules ask the same. */
function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
