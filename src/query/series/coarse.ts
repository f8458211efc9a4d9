import type { Batch } from '../../recording/read/batch.ts';
import type { Column } from '../../table/table.ts';
import { bucketsOf } from './buckets.ts';
import { levelPoints, ratePoints } from './points.ts';

/** Digits that a mean gets beyond those of the values it is made of. */
const MORE_DIGITS = 3;

/**
 * One row for each step in which a series has samples: the mean of a gauge, the last value of a counter (or its mean rate a
 * second) and of a text. Rows stand at the beginning of their step; `step` and `sampled` (the interval of the samples) are
 * in microseconds.
 */
export function coarse(batch: Batch, step: number, sampled: number, rates = false): Batch {
  const buckets = bucketsOf(batch, step, sampled);
  const { length, rows } = buckets;
  const columns = batch.table.columns.map((column) => meanColumn(column, rates));
  const numbers = new Map<string, Float64Array>();
  batch.table.columns.forEach((column) => {
    const values = batch.numbers.get(column.name);
    if (values === undefined) return;
    if (column.kind === 'counter' && !rates) numbers.set(column.name, lasts(values, rows, length));
    else {
      const { mean } = (column.kind === 'counter' ? ratePoints : levelPoints)(batch, values, buckets);
      numbers.set(column.name, rounded(mean, meanColumn(column, rates)));
    }
  });
  const texts: Batch['texts'] = new Map();
  for (const [name, { codes, values }] of batch.texts) {
    const last = new Uint32Array(length);
    for (let b = 0; b < length; b++) last[b] = codes[rows[b + 1]! - 1]!;
    texts.set(name, { values, codes: last });
  }
  const { time, series } = buckets;
  return { table: { ...batch.table, columns }, rows: length, time, numbers, texts, series };
}

/** A gauge as its means are described; a counter as its rates are. */
export function meanColumn(column: Column, rates = false): Column {
  if ((column.kind !== 'gauge' && !rates) || column.type === 'text') return column;
  const digits = column.type === 'float' ? (column.decimals ?? 3) : 0;
  return { ...column, kind: 'gauge', type: 'float', decimals: Math.min(9, digits + MORE_DIGITS) };
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
