import type { NodeRecording } from '../../recording/folder/open.ts';
import { type Batch, seriesKeys } from '../../recording/read/batch.ts';
import { bucketsOf } from '../../recording/read/buckets.ts';
import { levelPoints, type Points, ratePoints } from '../../recording/read/points.ts';
import { readTable } from '../../recording/read/read.ts';
import { OVERVIEW_STEP, readOverview } from '../../recording/sealed/overview.ts';
import type { KeyValues, TableColumn } from '../../table/table.ts';
import type { SampledTimes } from '../summarise.ts';
import { inMinutes, isOfMinutes, overviewSeries } from './from-overview.ts';

export interface SeriesOptions<K extends string = string> extends SampledTimes {
  /** Only series with these keys. */
  keys?: KeyValues<K>;
  /** Microseconds; or about so many steps over all the time there is. */
  step?: number;
  points?: number;
}

/** One series of a column: a row for each step in which it has a value or a rate. */
export interface ColumnSeries extends Points {
  node: string;
  keys: Record<string, string>;
  /** When each step begins, epoch microseconds. */
  time: Float64Array;
  /** Microseconds. */
  step: number;
}

const USUAL_POINTS = 600;
const USUAL_INTERVAL = 1;

/**
 * What a column did over time: count, least, mean and greatest of each step, so that no single sample is lost. Counters are
 * rates per second.
 *
 *     series(recording.nodes, gpuTable.col.power_watts, { keys: { gpu: '0' }, points: 600 });
 */
export function series<K extends string>(
  nodes: readonly NodeRecording[],
  { table, name }: TableColumn<string, string, K>,
  { keys = {}, step, points = USUAL_POINTS, ...part }: SeriesOptions<K> = {},
): ColumnSeries[] {
  const wanted = Object.entries(keys);
  const recorded = nodes.filter(({ tables }) => tables.has(table));
  const read = (node: NodeRecording): Batch | undefined => {
    const batch = readTable(node, table, { ...part, columns: [name] });
    return batch.rows === 0 ? undefined : batch;
  };
  // the samples of one node after the other: all of them may be more than there is memory
  if (step !== undefined)
    return recorded.flatMap((node) => {
      const coarse =
        isOfMinutes(step) && part.intervals === undefined
          ? overviewSeries(node, table, name, { ...part, step }, wanted)
          : undefined;
      if (coarse !== undefined) return coarse;
      const batch = read(node);
      return batch === undefined ? [] : inSteps(node.name, batch, name, wanted, step);
    });
  const minutes = part.intervals === undefined ? recorded.map((node) => readOverview(node, table, name)) : [];
  if (minutes.length > 0 && minutes.every((each) => each !== undefined)) {
    const fitting = stepFor(minutes, points);
    if (fitting >= OVERVIEW_STEP)
      return series(nodes, { table, name } as TableColumn<string, string, K>, {
        keys,
        ...part,
        step: inMinutes(fitting),
      });
  }
  const batches = recorded.flatMap((node) => {
    const batch = read(node);
    return batch === undefined ? [] : [{ node: node.name, batch }];
  });
  const asked = stepFor(
    batches.map(({ batch }) => batch),
    points,
  );
  return batches.flatMap(({ node, batch }) => inSteps(node, batch, name, wanted, asked));
}

function inSteps(
  node: string,
  batch: Batch,
  name: string,
  keys: readonly [string, unknown][],
  step: number,
): ColumnSeries[] {
  const values = batch.numbers.get(name);
  if (values === undefined) return [];
  const buckets = bucketsOf(batch, step, (batch.interval_seconds ?? USUAL_INTERVAL) * 1e6);
  const isCounter = batch.table.columns.find((column) => column.name === name)?.kind === 'counter';
  const all = (isCounter ? ratePoints : levelPoints)(batch, values, buckets);
  const seriesList: ColumnSeries[] = [];
  for (let s = 0; s + 1 < batch.series.length; s++) {
    const own = seriesKeys(batch, s);
    if (!keys.every(([key, value]) => own[key] === value)) continue;
    const [from, to] = [buckets.series[s]!, buckets.series[s + 1]!];
    seriesList.push({
      node,
      keys: own,
      step,
      time: buckets.time.subarray(from, to),
      count: all.count.subarray(from, to),
      min: all.min.subarray(from, to),
      mean: all.mean.subarray(from, to),
      max: all.max.subarray(from, to),
    });
  }
  return seriesList;
}

function stepFor(batches: readonly Pick<Batch, 'time' | 'series' | 'interval_seconds'>[], points: number): number {
  let [first, last, interval] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, USUAL_INTERVAL];
  for (const { time, series: starts, interval_seconds } of batches) {
    interval = Math.max(interval, interval_seconds ?? 0);
    for (let s = 0; s + 1 < starts.length; s++) {
      first = Math.min(first, time[starts[s]!]!);
      last = Math.max(last, time[starts[s + 1]! - 1]!);
    }
  }
  return first < last ? Math.ceil((last - first + interval * 1e6) / points) : Math.round(interval * 1e6);
}
