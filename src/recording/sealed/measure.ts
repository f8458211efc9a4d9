import type { Column, Table } from '../../table/table.ts';
import type { Batch } from '../read/batch.ts';
import { isOlder } from '../read/process-part.ts';
import { cellOf, isShort } from '../read/rate-cells.ts';
import { quantiles, sortedQuantiles, weightedQuantiles } from './quantiles.ts';
import type { SeriesStatistics, Statistics, TableStatistics } from './statistics.ts';

/** More processes than this are not described one by one: those with the most CPU time are. */
export const MOST_PROCESSES = 2000;

const FIVE = [0.05, 0.25, 0.5, 0.75, 0.95];
const THREE = [0.05, 0.5, 0.95];

/** What a table's rows show, series by series. */
export function measure(batch: Batch): TableStatistics {
  const statistics = measureSeries(batch);
  for (const column of batch.table.columns) {
    const values = batch.numbers.get(column.name);
    if (values !== undefined) measureColumn(statistics, batch, column, values);
  }
  return statistics.table;
}

/** Statistics in the making: columns are added one by one, so that they need not all be in memory. */
export interface Measured {
  table: TableStatistics;
  /** The place, among all series of the batch, of each series in the table. */
  places: number[];
}

/** Everything but the number columns. */
export function measureSeries(batch: Batch, cpu?: Float64Array): Measured {
  const { table, series, time, rows } = batch;
  const total = series.length - 1;
  const places = busiest(batch, total, cpu);
  let start = Number.NaN;
  let end = Number.NaN;
  for (let s = 0; s < total; s++) {
    const first = time[series[s]!]!;
    const last = time[series[s + 1]! - 1]!;
    if (!(first >= start)) start = first;
    if (!(last <= end)) end = last;
  }
  let beside = 0;
  for (let s = 0; s < total; s++) {
    const [from, to] = sampledRows(batch, series[s]!, series[s + 1]!);
    beside += series[s + 1]! - series[s]! - (to - from);
  }
  return {
    places,
    table: {
      table: table.name,
      rows: rows - beside,
      start,
      end,
      series: places.map((s) => describeSeries(batch, series[s]!, series[s + 1]!)),
      series_total: total,
    },
  };
}

/** The rows of a series that are samples, without its edges; where there are none, these stand for them. */
function sampledRows({ edges }: Batch, from: number, to: number): [from: number, to: number] {
  const [first, last] = [from + (edges?.[from] ?? 0), to - (edges?.[to - 1] ?? 0)];
  return first < last ? [first, last] : [from, to];
}

function describeSeries(batch: Batch, from: number, to: number): SeriesStatistics {
  const keys: Record<string, string> = {};
  for (const { name } of batch.table.keys) {
    const key = batch.texts.get(name)!;
    keys[name] = key.values[key.codes[from]!]!;
  }
  const texts: Record<string, string> = {};
  for (const column of batch.table.columns) {
    const text = batch.texts.get(column.name);
    if (text === undefined) continue;
    for (let i = to - 1; i >= from; i--) {
      const value = text.values[text.codes[i]!]!;
      if (value === '') continue;
      texts[column.name] = value;
      break;
    }
  }
  const beside = (batch.edges?.[from] ?? 0) + (to - from > 1 ? (batch.edges?.[to - 1] ?? 0) : 0);
  return { keys, start: batch.time[from]!, end: batch.time[to - 1]!, samples: to - from - beside, texts, columns: {} };
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
export function measureColumn(measured: Measured, batch: Batch, column: Column, values: Float64Array): void {
  // how often something happened says nothing about a mean
  if (batch.table.events === true) return;
  const { series, time } = batch;
  const interval = Math.round((batch.interval_seconds ?? 0) * 1000);
  measured.places.forEach((s, i) => {
    const isCounter = column.kind === 'counter';
    const [from, to] = sampledRows(batch, series[s]!, series[s + 1]!);
    const found = measureValues(values, time, from, to, isCounter, batch.table.sparse, interval);
    if (found === undefined) return;
    if (batch.edges !== undefined) addEdges(found, values, time, [series[s]!, from, to, series[s + 1]!]);
    measured.table.series[i]!.columns[column.name] = found;
  });
}

function measureValues(
  column: Float64Array,
  time: Float64Array,
  from: number,
  to: number,
  isCounter: boolean,
  sparse: boolean | undefined,
  interval: number,
): Statistics | undefined {
  space.room(to - from);
  const { values, times, weights } = space;
  let count = 0;
  let min = Number.POSITIVE_INFINITY;
  let max = Number.NEGATIVE_INFINITY;
  let maxTime = Number.NaN;
  let ascending = true;
  let sum = 0;
  let previous = Number.NEGATIVE_INFINITY;
  for (let i = from; i < to; i++) {
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
  if (count === 0) return undefined;
  const first = values[0]!;
  const last = values[count - 1]!;
  const each = sum / count;
  let mean = each;
  let held = 0;
  if (sparse) {
    // a value holds until the next one, the last one until the series ends
    const end = time[to - 1]!;
    for (let i = 0; i < count; i++) {
      const weight = (i + 1 < count ? times[i + 1]! : end) - times[i]!;
      weights[i] = weight;
      held += weight;
    }
    if (held > 0) {
      mean = 0;
      for (let i = 0; i < count; i++) mean += values[i]! * (weights[i]! / held);
    }
  }
  const weighted = held > 0;
  const growth: Pick<Statistics, 'increase' | 'rate' | 'integral'> = isCounter
    ? measureGrowth(count, sparse === true, interval)
    : { integral: measureArea(count, sparse === true) };
  if (!isCounter && !weighted) {
    let area = 0;
    for (let i = 1; i < count; i++) area += values[i - 1]! * (times[i]! - times[i - 1]!);
    mean = meanLevel({ count, min, max, mean, last }, area, times[count - 1]! - times[0]!);
  }
  const centre = weighted ? mean : each;
  let squares = 0;
  for (let i = 0; i < count; i++) {
    const away = values[i]! - centre;
    squares += away * away * (weighted ? weights[i]! / held : 1 / count);
  }
  const [p05, p25, p50, p75, p95] = (
    min === max
      ? [min, min, min, min, min]
      : weighted
        ? weightedQuantiles(values, weights, count, FIVE)
        : ascending
          ? sortedQuantiles(values, count, FIVE)
          : quantiles(values, count, FIVE)
  ) as [number, number, number, number, number];
  return {
    count,
    missing: to - from - count,
    first,
    last,
    min,
    max,
    max_time: maxTime,
    mean,
    deviation: Math.sqrt(squares),
    p05,
    p25,
    p50,
    p75,
    p95,
    ...growth,
  };
}

/**
 * The mean of a level by time, as samples are not equally far apart: each holds until the next one, the last for a mean
 * step. `area` is what lies under them without the last, in the unit of `time`, which is from the first to the last.
 */
export function meanLevel(
  { count, min, max, mean, last }: Pick<Statistics, 'count' | 'min' | 'max' | 'mean' | 'last'>,
  area: number,
  time: number,
): number {
  // equal values have that mean to the last digit
  if (min === max) return min;
  if (!(time > 0)) return mean;
  const step = time / (count - 1);
  return (area + last * step) / (time + step);
}

/** Adds what belongs to a part between its edges and its samples to how much a counter grew, or to the area. */
function addEdges(
  found: Statistics,
  column: Float64Array,
  time: Float64Array,
  [begin, from, to, end]: readonly [number, number, number, number],
): void {
  let [first, last] = [from, to - 1];
  while (Number.isNaN(column[first])) first++;
  while (Number.isNaN(column[last])) last--;
  const isCounter = found.increase !== undefined;
  let [more, start, stop] = [0, time[first]!, time[last]!];
  if (begin < from && !Number.isNaN(column[begin])) {
    const [earlier, value] = [column[begin]!, column[first]!];
    more += isCounter ? value - earlier : ((earlier + value) / 2) * ((start - time[begin]!) / 1e6);
    start = time[begin]!;
  }
  if (to < end && !Number.isNaN(column[end - 1])) {
    const [value, later] = [column[last]!, column[end - 1]!];
    more += isCounter ? later - value : ((value + later) / 2) * ((time[end - 1]! - stop) / 1e6);
    stop = time[end - 1]!;
  }
  if (!isCounter) {
    found.integral! += more;
    return;
  }
  // by a single sample nobody knows how much it grew
  if (start === stop) {
    delete found.increase;
    return;
  }
  found.increase! += more;
  const mean = found.increase! / ((stop - start) / 1e6);
  const { rate } = found;
  if (rate !== undefined) found.rate = { ...rate, mean, min: Math.min(rate.min, mean), max: Math.max(rate.max, mean) };
  else if (start < time[first]! || stop > time[last]!)
    found.rate = { min: mean, max: mean, max_time: stop, mean, p05: mean, p50: mean, p95: mean };
}

/** Area under the values in `space`, in unit × seconds. */
function measureArea(count: number, sparse: boolean): number {
  const { values, times, weights } = space;
  let area = 0;
  if (sparse) for (let i = 0; i < count; i++) area += values[i]! * weights[i]!;
  else for (let i = 1; i < count; i++) area += ((values[i]! + values[i - 1]!) / 2) * (times[i]! - times[i - 1]!);
  return area / 1e6;
}

/** What a counter grew by at sample `i`. One that fell began again at zero. */
function grownAt(values: Float64Array, i: number): number {
  const step = values[i]! - values[i - 1]!;
  return step >= 0 ? step : values[i]!;
}

/**
 * How much the counter in `space` grew, and how fast. Rates are taken from cell to cell of the interval in milliseconds; in
 * a sparse table, where most cells have no sample, over at least half of it.
 */
function measureGrowth(count: number, sparse: boolean, interval: number): Pick<Statistics, 'increase' | 'rate'> {
  const { values, times, rates, spare, weights } = space;
  const shortest = sparse ? interval * 500 : 0;
  const cells = !sparse && interval > 0;
  let increase = 0;
  let min = Number.POSITIVE_INFINITY;
  let max = Number.NEGATIVE_INFINITY;
  let maxTime = Number.NaN;
  let found = 0;
  const look = (rate: number, time: number): void => {
    if (rate < min) min = rate;
    if (rate > max) {
      max = rate;
      maxTime = time;
    }
  };
  const rateOf = (grown: number, from: number, to: number): number => grown / ((times[to]! - times[from]!) / 1e6);
  // the last sample of the cell before, what was grown until then, and the same of the cell before that
  let last = cells ? -1 : 0;
  let until = 0;
  let second = -1;
  let secondUntil = 0;
  let begun = false;
  for (let i = cells ? 0 : 1; i < count; i++) {
    if (i > 0) increase += grownAt(values, i);
    // another sample follows in the same cell
    const near = cells && i + 1 < count && times[i + 1]! - times[i]! < interval * 1000;
    if (near && cellOf(times[i + 1]!, interval) === cellOf(times[i]!, interval)) continue;
    if (cells && !begun && !isShort(times[0]!, times[i]!, interval)) {
      begun = true;
      look(rateOf(increase, 0, i), times[i]!);
    }
    const before = until;
    let from = last;
    let grown = increase - until;
    last = i;
    until = increase;
    if (from < 0) continue;
    if (cells && i + 1 === count && isShort(times[from]!, times[i]!, interval)) {
      // the end is counted with the cell before it
      if (second >= 0) look(rateOf(increase - secondUntil, second, i), times[i]!);
      break;
    }
    second = from;
    secondUntil = before;
    for (; from > 0 && times[i]! - times[from]! < shortest; from--) grown += grownAt(values, from);
    if (times[i]! - times[from]! < shortest) continue;
    const rate = rateOf(grown, from, i);
    rates[found] = rate;
    if (sparse) spare[found] = weights[i - 1]!;
    found++;
    look(rate, times[i]!);
  }
  const seconds = (times[count - 1]! - times[0]!) / 1e6;
  const mean = increase / seconds;
  if (found === 0) {
    // no two cells: one rate over all samples, if they are not too close together
    if (!cells || isShort(times[0]!, times[count - 1]!, interval)) return { increase };
    return {
      increase,
      rate: { min: mean, max: mean, max_time: times[count - 1]!, mean, p05: mean, p50: mean, p95: mean },
    };
  }
  const [p05, p50, p95] = (
    min === max
      ? [min, min, min]
      : sparse
        ? weightedQuantiles(rates, spare, found, THREE)
        : quantiles(rates, found, THREE)
  ) as [number, number, number];
  // a first step that is too short for a rate is in none in a sparse table, but in the mean
  return {
    increase,
    rate: { min: Math.min(min, mean), max: Math.max(max, mean), max_time: maxTime, mean, p05, p50, p95 },
  };
}
