import type { NodeRecording } from '../recording/open.ts';
import { readTable } from '../recording/read.ts';

export interface ResampleOptions {
  /** Number columns; default: all. */
  columns?: readonly string[];
  /** Seconds between two points of the grid. */
  interval: number;
  /** Epoch microseconds, both included; default: where the table begins and ends. */
  from?: number;
  to?: number;
}

export interface ResampledSeries {
  keys: Record<string, string>;
  /** By column, one value a point of the grid; NaN where there was no sample. Counters as growth per second. */
  columns: Map<string, Float64Array>;
}

export interface Resampled {
  /** Epoch microseconds of the grid's points, whole multiples of the interval. */
  time: Float64Array;
  series: ResampledSeries[];
}

/**
 * A table on a regular grid, the same for every node: one of the two questions that everything asks. A sample belongs
 * to the point nearest to it. A gauge is the mean of its samples there, a counter how fast it grew until then; in a
 * sparse table a value holds until the next one. Points without samples stay missing.
 *
 *     resample(node, 'gpu', { columns: ['power_watts'], interval: 10 })
 */
export function resample(node: NodeRecording, table: string, options: ResampleOptions): Resampled {
  const step = Math.round(options.interval * 1e6);
  const batch = readTable(node, table, {
    hold: true,
    ...(options.columns === undefined ? {} : { columns: options.columns }),
    // half an interval more on both sides belongs to the first and last point; counters need the sample before
    ...(options.from === undefined ? {} : { from: options.from - 2 * step }),
    ...(options.to === undefined ? {} : { to: options.to + 2 * step }),
  });
  let least = options.from ?? Number.POSITIVE_INFINITY;
  let most = options.to ?? Number.NEGATIVE_INFINITY;
  for (let i = 0; i < batch.rows; i++) {
    if (options.from === undefined && batch.time[i]! < least) least = batch.time[i]!;
    if (options.to === undefined && batch.time[i]! > most) most = batch.time[i]!;
  }
  const first = Math.round(least / step);
  const points = most >= least ? Math.round(most / step) - first + 1 : 0;
  const time = Float64Array.from({ length: points }, (_, i) => (first + i) * step);
  const grid: Grid = { first, points, step };
  const series: ResampledSeries[] = [];
  for (let s = 0; s + 1 < batch.series.length; s++) {
    const from = batch.series[s]!;
    const to = batch.series[s + 1]!;
    const columns = new Map<string, Float64Array>();
    for (const column of batch.table.columns) {
      const values = batch.numbers.get(column.name);
      if (values === undefined) continue;
      const [gauges, counters] = batch.table.sparse === true ? [held, heldRates] : [means, rates];
      const fill = column.kind === 'counter' ? counters : gauges;
      columns.set(column.name, fill(values, batch.time, from, to, grid));
    }
    const keys = Object.fromEntries(
      batch.table.keys.map(({ name }) => {
        const key = batch.texts.get(name)!;
        return [name, key.values[key.codes[from]!]!];
      }),
    );
    series.push({ keys, columns });
  }
  return { time, series };
}

interface Grid {
  /** The number of the first point, counted in intervals since 1970. */
  first: number;
  points: number;
  step: number;
}

type Fill = (values: Float64Array, time: Float64Array, from: number, to: number, grid: Grid) => Float64Array;

const means: Fill = (values, time, from, to, { first, points, step }) => {
  const sums = new Float64Array(points);
  const counts = new Uint32Array(points);
  for (let i = from; i < to; i++) {
    const value = values[i]!;
    const at = Math.round(time[i]! / step) - first;
    if (Number.isNaN(value) || at < 0 || at >= points) continue;
    sums[at]! += value;
    counts[at]!++;
  }
  for (let i = 0; i < points; i++) sums[i] = counts[i] === 0 ? Number.NaN : sums[i]! / counts[i]!;
  return sums;
};

/** Steps of a counter: from when to when, and by how much it grew. One that fell began again at zero. */
function eachStep(
  values: Float64Array,
  time: Float64Array,
  from: number,
  to: number,
  take: (begin: number, end: number, grown: number) => void,
): void {
  let before = -1;
  for (let i = from; i < to; i++) {
    const value = values[i]!;
    if (Number.isNaN(value)) continue;
    const grown = value - values[before]!;
    if (before >= 0) take(time[before]!, time[i]!, grown >= 0 ? grown : value);
    before = i;
  }
}

/** A step belongs to the point nearest to its end. */
const rates: Fill = (values, time, from, to, { first, points, step }) => {
  const sums = new Float64Array(points);
  const seconds = new Float64Array(points);
  eachStep(values, time, from, to, (begin, end, grown) => {
    const at = Math.round(end / step) - first;
    if (at < 0 || at >= points) return;
    sums[at]! += grown;
    seconds[at]! += (end - begin) / 1e6;
  });
  for (let i = 0; i < points; i++) sums[i] = seconds[i] === 0 ? Number.NaN : sums[i]! / seconds[i]!;
  return sums;
};

/** In a sparse table nothing is written while nothing grows: a step is spread over the time it took. */
const heldRates: Fill = (values, time, from, to, grid) =>
  spread(grid, (add) => {
    eachStep(values, time, from, to, (begin, end, grown) => add(begin, end, grown / ((end - begin) / 1e6)));
  });

const held: Fill = (values, time, from, to, grid) =>
  spread(grid, (add) => {
    let before = -1;
    for (let i = from; i < to; i++) {
      if (Number.isNaN(values[i])) continue;
      if (before >= 0) add(time[before]!, time[i]!, values[before]!);
      before = i;
    }
    // the last value holds until the series ends, and at its own moment in any case
    if (before >= 0) add(time[before]!, Math.max(time[to - 1]!, time[before]! + 1), values[before]!);
  });

/** Means over time of what `feed` says held from one moment to another. */
function spread(
  { first, points, step }: Grid,
  feed: (add: (from: number, to: number, value: number) => void) => void,
): Float64Array {
  const areas = new Float64Array(points);
  const covered = new Float64Array(points);
  feed((from, to, value) => {
    const last = Math.min(points - 1, Math.ceil(to / step - 0.5) - first);
    for (let at = Math.max(0, Math.round(from / step) - first); at <= last; at++) {
      const begin = Math.max(from, (first + at - 0.5) * step);
      const end = Math.min(to, (first + at + 0.5) * step);
      if (end <= begin) continue;
      areas[at]! += value * (end - begin);
      covered[at]! += end - begin;
    }
  });
  for (let i = 0; i < points; i++) areas[i] = covered[i] === 0 ? Number.NaN : areas[i]! / covered[i]!;
  return areas;
}
