import type { Batch } from '../../recording/read/batch.ts';
import { bucketsOf } from '../../recording/read/buckets.ts';
import { levelPoints, ratePoints } from '../../recording/read/points.ts';
import type { Column } from '../../table/table.ts';

/** Digits that a mean gets beyond those of the values it is made of. */
const MORE_DIGITS = 3;

export interface Coarse {
  /** Counters as rates a second. */
  rates?: boolean;
  /** Beside each mean the lowest and the highest value of its step: X_min and X_max. */
  extremes?: boolean;
}

/**
 * One row for each step in which a series has samples: the mean of a gauge, the last value of a counter (or its mean rate a
 * second) and of a text. Rows stand at the beginning of their step; `step` and `sampled` (the interval of the samples) are
 * in microseconds.
 */
export function coarse(batch: Batch, step: number, sampled: number, how: Coarse = {}): Batch {
  const buckets = bucketsOf(batch, step, sampled);
  const { length, rows } = buckets;
  const numbers = new Map<string, Float64Array>();
  for (const column of batch.table.columns) {
    const values = batch.numbers.get(column.name);
    if (values === undefined) continue;
    const [mean, ...extremes] = coarseColumn(column, how);
    if (!isMean(column, how)) {
      numbers.set(column.name, lasts(values, rows, length));
      continue;
    }
    const points = (column.kind === 'counter' ? ratePoints : levelPoints)(batch, values, buckets);
    numbers.set(column.name, rounded(points.mean, mean!));
    extremes.forEach((each, i) => {
      numbers.set(each.name, rounded(i === 0 ? points.min : points.max, each));
    });
  }
  const { time, series } = buckets;
  const texts: Batch['texts'] = new Map();
  const keys = new Set(batch.table.keys.map(({ name }) => name));
  for (const [name, { codes, values }] of batch.texts) {
    const last = new Uint32Array(length);
    if (keys.has(name))
      for (let s = 0; s + 1 < series.length; s++) last.fill(codes[batch.series[s]!]!, series[s], series[s + 1]);
    else for (let b = 0; b < length; b++) last[b] = codes[rows[b + 1]! - 1]!;
    texts.set(name, { values, codes: last });
  }
  const columns = batch.table.columns.flatMap((column) => coarseColumn(column, how));
  return { table: { ...batch.table, columns }, rows: length, time, numbers, texts, series };
}

const isMean = ({ kind, type }: Column, { rates }: Coarse): boolean =>
  (kind === 'gauge' || rates === true) && type !== 'text';

/** What becomes of a column: a gauge as its means are described, a counter as its rates are, perhaps with their extremes. */
export function coarseColumn(column: Column, how: Coarse): Column[] {
  if (!isMean(column, how)) return [column];
  const digits = column.type === 'float' ? (column.decimals ?? 3) : 0;
  const mean: Column = { ...column, kind: 'gauge', type: 'float', decimals: Math.min(9, digits + MORE_DIGITS) };
  if (how.extremes !== true) return [mean];
  const extreme = column.kind === 'gauge' ? column : mean;
  return [mean, ...['min', 'max'].map((which) => ({ ...extreme, name: `${column.name}_${which}` }))];
}

function rounded(means: Float64Array, { exact, decimals = 3 }: Column): Float64Array {
  if (exact === true) return means;
  const power = 10 ** decimals;
  for (let b = 0; b < means.length; b++) means[b] = Math.round(means[b]! * power) / power;
  return means;
}

function lasts(values: Float64Array, rows: Uint32Array, length: number): Float64Array {
  const last = new Float64Array(length);
  for (let b = 0; b < length; b++) {
    let row = rows[b + 1]! - 1;
    while (row > rows[b]! && Number.isNaN(values[row]!)) row--;
    last[b] = values[row]!;
  }
  return last;
}
