import type { Column, Table } from '../../table/table.ts';
import type { Batch, TextColumn } from '../read/batch.ts';
import { firstAtOrAfter } from '../read/clip.ts';
import { isOlder } from '../read/process-part.ts';
import { eachRate, isShort, type RateTaker } from '../read/rate-cells.ts';
import { quantiles, sortedQuantiles, weightedQuantiles } from './quantiles.ts';
import type { SeriesStatistics, Statistics, TableStatistics } from './statistics.ts';
import { curveOfColumn } from './table-curves.ts';

/** More processes than this are not described one by one: those with the most CPU time are. */
export const MOST_PROCESSES = 2000;

const FIVE = [0.05, 0.25, 0.5, 0.75, 0.95];
const THREE = [0.05, 0.5, 0.95];

/** What a table's rows show, series by series; of columns that are not in `spread` deviations and percentiles are NaN. */
export function measure(batch: Batch, spread?: ReadonlySet<string>): TableStatistics {
  const statistics = measureSeries(batch);
  for (const column of batch.table.columns) {
    const values = batch.numbers.get(column.name);
    if (values !== undefined) measureColumn(statistics, batch, column, values, spread?.has(column.name));
  }
  return statistics.table;
}

/** Statistics in the making: columns are added one by one, so that they need not all be in memory. */
export interface Measured {
  table: TableStatistics;
  /** The place, among all series of the batch, of each series in the table. */
  busiestSeries: number[];
}

/** Everything but the number columns. */
export function measureSeries(batch: Batch, cpu?: Float64Array): Measured {
  const { table, series, time } = batch;
  const total = series.length - 1;
  const busiestSeries = busiest(batch, total, cpu);
  let start = Number.NaN;
  let end = Number.NaN;
  for (let s = 0; s < total; s++) {
    const first = time[series[s]!]!;
    const last = time[series[s + 1]! - 1]!;
    if (!(first >= start)) start = first;
    if (!(last <= end)) end = last;
  }
  let samples = batch.rows;
  if (batch.edges !== undefined) {
    samples = 0;
    for (let s = 0; s < total; s++) for (const { from, to } of stretchesOf(batch, s)) samples += to - from;
  }
  const textColumns = table.columns.flatMap(({ name }) => {
    const text = batch.texts.get(name);
    return text === undefined ? [] : [{ name, text }];
  });
  return {
    busiestSeries,
    table: {
      table: table.name,
      rows: samples,
      start,
      end,
      series: busiestSeries.map((s) => describeSeries(batch, textColumns, series[s]!, series[s + 1]!)),
      series_total: total,
    },
  };
}

/** Rows of a series without a gap: from `begin` to before `end`; without the edges among them, from `from` to before `to`. */
interface Stretch {
  begin: number;
  from: number;
  to: number;
  end: number;
}

/** The stretches of a series; where one has no samples, its edges stand for them. */
function stretchesOf({ series, edges, stretches }: Batch, s: number): Stretch[] {
  const [begin, end] = [series[s]!, series[s + 1]!];
  if (stretches === undefined) return [sampledRows(edges, begin, end)];
  const all: Stretch[] = [];
  for (let i = firstAtOrAfter(stretches, begin, 0, stretches.length); stretches[i]! < end; i++)
    all.push(sampledRows(edges, stretches[i]!, stretches[i + 1]!));
  return all;
}

function sampledRows(edges: Uint8Array | undefined, begin: number, end: number): Stretch {
  const [from, to] = [begin + (edges?.[begin] ?? 0), end - (edges?.[end - 1] ?? 0)];
  return from < to ? { begin, from, to, end } : { begin, from: begin, to: end, end };
}

function describeSeries(
  batch: Batch,
  textColumns: readonly { name: string; text: TextColumn }[],
  from: number,
  to: number,
): SeriesStatistics {
  const keys: Record<string, string> = {};
  for (const { name } of batch.table.keys) {
    const key = batch.texts.get(name)!;
    keys[name] = key.values[key.codes[from]!]!;
  }
  const texts: Record<string, string> = {};
  for (const { name, text } of textColumns) {
    for (let i = to - 1; i >= from; i--) {
      const value = text.values[text.codes[i]!]!;
      if (value === '') continue;
      texts[name] = value;
      break;
    }
  }
  let samples = to - from;
  if (batch.edges !== undefined) for (let i = from; i < to; i++) samples -= batch.edges[i]!;
  return { keys, start: batch.time[from]!, end: batch.time[to - 1]!, samples, texts, columns: {} };
}

const TIMES: readonly string[] = ['seconds', 'milliseconds', 'microseconds', 'nanoseconds'];

/** The counters of a table of processes that hold CPU time. */
export function cpuColumns(table: Table): string[] {
  if (!table.keys.some((key) => key.name === 'pid')) return [];
  return table.columns
    .filter((c) => c.kind === 'counter' && TIMES.includes(c.unit) && /^(user|system|cpu)_/.test(c.name))
    .map((c) => c.name);
}

/** All series; of too many processes those with the most CPU time, still in the order of their keys. */
function busiest(batch: Batch, total: number, cpu: Float64Array | undefined): number[] {
  const all = Array.from({ length: total }, (_, s) => s);
  if (total <= MOST_PROCESSES || !batch.table.keys.some((key) => key.name === 'pid')) return all;
  const spent = cpu ?? cpuTime(batch);
  return all
    .sort((a, b) => spent[b]! - spent[a]! || a - b)
    .slice(0, MOST_PROCESSES)
    .sort((a, b) => a - b);
}

/** CPU time of each process in the recording; without CPU times the number of samples stands in. */
export function cpuTime(batch: Batch): Float64Array {
  const { series } = batch;
  const starts = batch.texts.get('start');
  const isOld = (row: number): boolean =>
    starts !== undefined && isOlder(Number(starts.values[starts.codes[row]!]) * 1000, batch.began ?? Number.NaN);
  const columns = cpuColumns(batch.table).flatMap((name) => batch.numbers.get(name) ?? []);
  return Float64Array.from({ length: series.length - 1 }, (_, s) => {
    const from = series[s]!;
    const to = series[s + 1]!;
    if (columns.length === 0) return to - from;
    let spent = 0;
    for (const values of columns) {
      let i = to - 1;
      while (i >= from && Number.isNaN(values[i])) i--;
      if (i >= from) spent += values[i]!;
      // what it had used before is not the job's
      if (isOld(from)) spent -= values[from]! || 0;
    }
    return spent;
  });
}

/** Scratch space for one series: its values, when they were taken, how long they held. */
class Space {
  values = new Float64Array(0);
  times = new Float64Array(0);
  weights = new Float64Array(0);
  rates = new Float64Array(0);
  /** Selecting changes the order of weights, too: this copy may be changed. */
  spare = new Float64Array(0);

  room(count: number): void {
    if (count <= this.values.length) return;
    const size = Math.max(count, this.values.length * 2);
    this.values = new Float64Array(size);
    this.times = new Float64Array(size);
    this.weights = new Float64Array(size);
    this.rates = new Float64Array(size);
    this.spare = new Float64Array(size);
  }
}

const space = new Space();

/** Adds a number column to the series that `measureSeries` described. */
export function measureColumn(
  measured: Measured,
  batch: Batch,
  column: Column,
  values: Float64Array,
  percentiles = true,
): void {
  // how often something happened says nothing about a mean
  if (batch.table.events === true) return;
  const interval = Math.round((batch.interval_seconds ?? 0) * 1000);
  const measuring: Measuring = {
    column: values,
    time: batch.time,
    isCounter: column.kind === 'counter',
    sparse: batch.table.sparse === true,
    clipped: batch.edges !== undefined,
    percentiles,
    interval,
  };
  measured.busiestSeries.forEach((s, i) => {
    const statistics = measureValues(measuring, stretchesOf(batch, s));
    if (statistics !== undefined) measured.table.series[i]!.columns[column.name] = statistics;
  });
  const { table, busiestSeries } = measured;
  const curve = curveOfColumn(batch, column, values, table, table.series, busiestSeries);
  if (curve !== undefined) table.curves = { ...table.curves, [column.name]: curve };
}

interface Measuring {
  column: Float64Array;
  time: Float64Array;
  isCounter: boolean;
  sparse: boolean;
  /** A part whose edges may lie between samples. */
  clipped: boolean;
  percentiles: boolean;
  /** Milliseconds. */
  interval: number;
}

/** A stretch, and which values in `space` are its own. */
interface Filled extends Stretch {
  first: number;
  last: number;
}

function measureValues(measuring: Measuring, stretches: readonly Stretch[]): Statistics | undefined {
  const { column, time, isCounter, sparse, percentiles, interval } = measuring;
  let rows = 0;
  for (const { from, to } of stretches) rows += to - from;
  space.room(rows);
  const { values, times, weights } = space;
  const filled: Filled[] = [];
  let count = 0;
  let min = Number.POSITIVE_INFINITY;
  let max = Number.NEGATIVE_INFINITY;
  let maxTime = Number.NaN;
  let ascending = true;
  let sum = 0;
  let previous = Number.NEGATIVE_INFINITY;
  for (const stretch of stretches) {
    const first = count;
    for (let i = stretch.from; i < stretch.to; i++) {
      const value = column[i]!;
      if (Number.isNaN(value)) continue;
      values[count] = value;
      times[count++] = time[i]!;
      sum += value;
      if (value < min) min = value;
      if (value > max) {
        max = value;
        maxTime = time[i]!;
      }
      if (value < previous) ascending = false;
      previous = value;
    }
    if (count === first) continue;
    const { begin, from, to, end } = stretch;
    filled.push({ begin, from, to, end, first, last: count - 1 });
  }
  if (count === 0) return undefined;
  const each = sum / count;
  let mean = each;
  let held = 0;
  if (sparse) {
    // a value holds until the next one, the last one until the stretch ends
    for (const { first, last, to } of filled) {
      for (let i = first; i <= last; i++) {
        const weight = (i < last ? times[i + 1]! : time[to - 1]!) - times[i]!;
        weights[i] = weight;
        held += weight;
      }
    }
    if (held > 0) {
      mean = 0;
      for (let i = 0; i < count; i++) mean += values[i]! * (weights[i]! / held);
    }
  }
  const weighted = held > 0;
  const growth = isCounter ? measureGrowth(measuring, filled) : undefined;
  const integral = isCounter ? undefined : measureArea(measuring, filled);
  // equal values have that mean to the last digit
  if (!isCounter && !weighted) mean = min === max ? min : meanByTime(filled, interval * 1000);
  const centre = weighted ? mean : each;
  let squares = percentiles ? 0 : Number.NaN;
  for (let i = 0; i < count && percentiles; i++) {
    const away = values[i]! - centre;
    squares += away * away * (weighted ? weights[i]! / held : 1 / count);
  }
  const first = values[0]!;
  const last = values[count - 1]!;
  const same = percentiles ? min : Number.NaN;
  // very many columns have no need of them: then there is no list of five
  const five =
    min === max || !percentiles
      ? undefined
      : weighted
        ? weightedQuantiles(values, weights, count, FIVE)
        : ascending
          ? sortedQuantiles(values, count, FIVE)
          : quantiles(values, count, FIVE);
  const statistics: Statistics = {
    count,
    missing: rows - count,
    first,
    last,
    min,
    max,
    max_time: maxTime,
    mean,
    deviation: Math.sqrt(squares),
    p05: five === undefined ? same : five[0]!,
    p25: five === undefined ? same : five[1]!,
    p50: five === undefined ? same : five[2]!,
    p75: five === undefined ? same : five[3]!,
    p95: five === undefined ? same : five[4]!,
  };
  if (integral !== undefined) statistics.integral = integral;
  if (growth?.increase !== undefined) statistics.increase = growth.increase;
  if (growth?.rate !== undefined) statistics.rate = growth.rate;
  return statistics;
}

/**
 * The mean of the levels in `space` by time, as samples are not equally far apart: each holds until the next one, the last
 * of a stretch for a mean step of it. One alone holds for an interval.
 */
function meanByTime(filled: readonly Filled[], interval: number): number {
  const { values, times } = space;
  let total = 0;
  let held = 0;
  for (const { first, last } of filled) {
    let area = 0;
    for (let i = first + 1; i <= last; i++) area += values[i - 1]! * (times[i]! - times[i - 1]!);
    const time = times[last]! - times[first]!;
    const step = time > 0 ? time / (last - first) : interval || 1;
    total += area + values[last]! * step;
    held += time + step;
  }
  return total / held;
}

/** Area under the values in `space`, and between them and the edges of their stretches, in unit × seconds. */
function measureArea({ column, time, sparse }: Measuring, filled: readonly Filled[]): number {
  const { values, times, weights } = space;
  let area = 0;
  for (const { begin, from, to, end, first, last } of filled) {
    if (sparse) for (let i = first; i <= last; i++) area += values[i]! * weights[i]!;
    else
      for (let i = first + 1; i <= last; i++) area += ((values[i]! + values[i - 1]!) / 2) * (times[i]! - times[i - 1]!);
    if (begin < from && !Number.isNaN(column[begin]))
      area += ((column[begin]! + values[first]!) / 2) * (times[first]! - time[begin]!);
    if (to < end && !Number.isNaN(column[end - 1]))
      area += ((values[last]! + column[end - 1]!) / 2) * (time[end - 1]! - times[last]!);
  }
  return area / 1e6;
}

/** How fast the counter in `space` grew: the lowest and the highest rate; those of which percentiles are made go to `space`. */
class Rates implements RateTaker {
  count = 0;
  min = Number.POSITIVE_INFINITY;
  max = Number.NEGATIVE_INFINITY;
  maxTime = Number.NaN;
  private readonly start: number;

  constructor(start = 0) {
    this.start = start;
  }

  rate(rate: number, _: number, to: number): void {
    space.rates[this.start + this.count] = rate;
    space.spare[this.start + this.count++] = space.weights[to - 1]!;
    this.look(rate, space.times[to]!);
  }

  look(rate: number, time: number): void {
    if (rate < this.min) this.min = rate;
    if (rate > this.max) {
      this.max = rate;
      this.maxTime = time;
    }
  }

  add({ count, min, max, maxTime }: Rates): void {
    this.count += count;
    if (min < this.min) this.min = min;
    this.look(max, maxTime);
  }
}

/** How much the counter in `space` grew, and how fast; what a gap between stretches hides is in none of it. */
function measureGrowth(
  { column, time, sparse, clipped, percentiles, interval }: Measuring,
  filled: readonly Filled[],
): Pick<Statistics, 'increase' | 'rate'> {
  const { values, times, rates: all, spare } = space;
  const rates = new Rates();
  // the mean of a stretch may be the lowest or the highest, too
  const means = new Rates();
  let increase: number | undefined;
  let seconds = 0;
  for (const { begin, from, to, end, first, last } of filled) {
    let since = times[first]!;
    let until = times[last]!;
    const own = filled.length === 1 ? rates : new Rates(rates.count);
    let grown = eachRate({ values, times, first, last, sparse, interval }, own);
    if (own !== rates && own.count > 0) rates.add(own);
    const isRated = own.count > 0 || (!sparse && interval > 0 && !isShort(since, until, interval));
    if (isRated) means.look(grown / ((until - since) / 1e6), until);
    const samples = until - since;
    if (begin < from && !Number.isNaN(column[begin])) {
      grown += values[first]! - column[begin]!;
      since = time[begin]!;
    }
    if (to < end && !Number.isNaN(column[end - 1])) {
      grown += column[end - 1]! - values[last]!;
      until = time[end - 1]!;
    }
    // by a single sample nobody knows how much it grew
    if (clipped && since === until) continue;
    const mean = grown / ((until - since) / 1e6);
    if (clipped && (isRated || until - since > samples)) means.look(mean, isRated ? times[last]! : until);
    increase = (increase ?? 0) + grown;
    seconds += (until - since) / 1e6;
  }
  if (increase === undefined) return {};
  if (Number.isNaN(means.maxTime)) return { increase };
  const mean = increase / seconds;
  const { count } = rates;
  // without a rate of its own, what was looked at on the way is in the means
  const min = count === 0 ? Number.POSITIVE_INFINITY : rates.min;
  const max = count === 0 ? Number.NEGATIVE_INFINITY : rates.max;
  const same = count === 0 ? mean : percentiles ? min : Number.NaN;
  const three =
    count === 0 || min === max || !percentiles
      ? undefined
      : sparse
        ? weightedQuantiles(all, spare, count, THREE)
        : quantiles(all, count, THREE);
  const p05 = three === undefined ? same : three[0]!;
  const p50 = three === undefined ? same : three[1]!;
  const p95 = three === undefined ? same : three[2]!;
  const max_time = count === 0 ? means.maxTime : rates.maxTime;
  const rate = { min: Math.min(min, means.min), max: Math.max(max, means.max), max_time, mean, p05, p50, p95 };
  return { increase, rate };
}
