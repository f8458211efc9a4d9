import type { Batch } from '../../recording/read/batch.ts';
import type { Column } from '../../table/table.ts';
import { tickOf } from './wide.ts';

/** Digits that a mean gets beyond those of the values it is made of. */
const MORE_DIGITS = 3;

/**
 * One row for each interval in which a series has samples: the mean of a gauge by the time that its values held, the last
 * value of a counter and of a text. What is missing does not count; `interval` and `sampled` (that of the samples) are in microseconds, and rows stand
 * at the beginning of their interval.
 */
export function coarsen(batch: Batch, interval: number, sampled: number): Batch {
  const early = Math.min(interval, sampled);
  const endOf = (row: number): number => (tickOf(batch.time[row]!, interval, early) + 1) * interval;
  const starts: number[] = [];
  const series: number[] = [];
  for (let s = 0; s + 1 < batch.series.length; s++) {
    series.push(starts.length);
    let tick = Number.NaN;
    for (let r = batch.series[s]!; r < batch.series[s + 1]!; r++) {
      const own = tickOf(batch.time[r]!, interval, early);
      if (own === tick) continue;
      tick = own;
      starts.push(r);
    }
  }
  series.push(starts.length);
  const rows = starts.length;
  starts.push(batch.rows);
  const columns = batch.table.columns.map((column) => (column.kind === 'gauge' ? finer(column) : column));
  const numbers = new Map(
    columns.flatMap((column): [string, Float64Array][] => {
      const values = batch.numbers.get(column.name);
      if (values === undefined) return [];
      return [
        [column.name, column.kind === 'gauge' ? means(batch, values, starts, endOf, column) : lasts(values, starts)],
      ];
    }),
  );
  const texts = new Map(
    [...batch.texts].map(([name, { codes, values }]) => [
      name,
      { values, codes: Uint32Array.from({ length: rows }, (_, i) => codes[starts[i + 1]! - 1]!) },
    ]),
  );
  const time = Float64Array.from(
    { length: rows },
    (_, i) => tickOf(batch.time[starts[i]!]!, interval, early) * interval,
  );
  return { table: { ...batch.table, columns }, rows, time, numbers, texts, series: Uint32Array.from(series) };
}

function finer(column: Column): Column {
  const digits = column.type === 'float' ? (column.decimals ?? 3) : 0;
  return column.type === 'text' ? column : { ...column, type: 'float', decimals: Math.min(9, digits + MORE_DIGITS) };
}

/** A value holds until the next one, the last for a mean step; in a sparse table, where it is not said again, until the interval ends. */
function means(
  { time, table }: Batch,
  values: Float64Array,
  starts: readonly number[],
  endOf: (row: number) => number,
  { decimals = 3, exact }: Column,
): Float64Array {
  const power = 10 ** decimals;
  // a store has milliseconds: means are the same from there
  const at = (row: number): number => Math.floor(time[row]! / 1000);
  return Float64Array.from({ length: starts.length - 1 }, (_, i) => {
    let [mean, held, count] = [Number.NaN, 0, 0];
    let first = Number.NaN;
    let last = -1;
    const hold = (span: number): void => {
      held += span;
      mean = held > 0 ? mean + (values[last]! - mean) * (span / held) : values[last]!;
    };
    for (let r = starts[i]!; r < starts[i + 1]!; r++) {
      if (Number.isNaN(values[r]!)) continue;
      if (count++ > 0) hold(at(r) - at(last));
      else [first, mean] = [at(r), values[r]!];
      last = r;
    }
    if (count === 0) return Number.NaN;
    if (table.sparse === true) hold(Math.max(0, Math.floor(endOf(last) / 1000) - at(last)));
    else if (count > 1) hold((at(last) - first) / (count - 1));
    return exact === true ? mean : Math.round(mean * power) / power;
  });
}

function lasts(values: Float64Array, starts: readonly number[]): Float64Array {
  return Float64Array.from({ length: starts.length - 1 }, (_, i) => {
    let r = starts[i + 1]! - 1;
    while (r > starts[i]! && Number.isNaN(values[r]!)) r--;
    return values[r]!;
  });
}
