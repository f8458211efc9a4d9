import type { Batch } from './batch.ts';
import type { Buckets } from './buckets.ts';
import { eachRate } from './rate-cells.ts';

/** What a column showed in each step. A step without any value has the count 0, and NaN for the rest. */
export interface Points {
  count: Uint32Array;
  min: Float64Array;
  mean: Float64Array;
  max: Float64Array;
}

function emptyPoints(length: number): Points {
  const missing = (): Float64Array => new Float64Array(length).fill(Number.NaN);
  return { count: new Uint32Array(length), min: missing(), mean: missing(), max: missing() };
}

/**
 * A gauge. Its mean is by time: a value holds until the next one, the last in a step for a mean distance; in a sparse table,
 * where it is not said again, until the step ends. Times are whole milliseconds: means are the same from a store.
 */
export function levelPoints({ time, table }: Batch, values: Float64Array, buckets: Buckets): Points {
  const points = emptyPoints(buckets.length);
  for (let b = 0; b < buckets.length; b++)
    setLevel(
      points,
      b,
      time,
      values,
      buckets.rows[b]!,
      buckets.rows[b + 1]!,
      table.sparse === true ? Math.floor((buckets.time[b]! + buckets.step) / 1000) : Number.NaN,
    );
  return points;
}

/** One bucket of it; `holds` is the end of its step where values hold until then. */
function setLevel(
  points: Points,
  b: number,
  time: Float64Array,
  values: Float64Array,
  from: number,
  to: number,
  holds: number,
): void {
  let count = 0;
  let min = Number.POSITIVE_INFINITY;
  let max = Number.NEGATIVE_INFINITY;
  let area = 0;
  let first = 0;
  let at = 0;
  let last = 0;
  for (let row = from; row < to; row++) {
    const value = values[row]!;
    if (Number.isNaN(value)) continue;
    const now = Math.floor(time[row]! / 1000);
    if (count++ === 0) first = now;
    else area += last * (now - at);
    if (value < min) min = value;
    if (value > max) max = value;
    at = now;
    last = value;
  }
  if (count === 0) return;
  const rest = Number.isNaN(holds) ? (count > 1 ? (at - first) / (count - 1) : 0) : Math.max(0, holds - at);
  const held = at - first + rest;
  points.count[b] = count;
  points.min[b] = min;
  points.max[b] = max;
  // equal values have that mean to the last digit
  points.mean[b] = min === max || held === 0 ? last : (area + last * rest) / held;
}

/** A counter becomes rates, each in the step that it ends in: mean × time is what the counter grew by. */
export function ratePoints(
  { time, series, table, interval_seconds = 0 }: Batch,
  values: Float64Array,
  buckets: Buckets,
): Points {
  const points = emptyPoints(buckets.length);
  const held = new Float64Array(buckets.length);
  const kept = new Float64Array(values.length);
  const times = new Float64Array(values.length);
  for (let s = 0; s + 1 < series.length; s++) {
    let count = 0;
    for (let row = series[s]!; row < series[s + 1]!; row++) {
      if (Number.isNaN(values[row]!)) continue;
      kept[count] = values[row]!;
      times[count++] = time[row]!;
    }
    let b = buckets.series[s]!;
    const bucketAt = (moment: number): number => {
      while (b + 1 < buckets.series[s + 1]! && time[buckets.rows[b + 1]!]! <= moment) b++;
      return b;
    };
    const look = (rate: number, moment: number): number => {
      const at = bucketAt(moment);
      if (!(rate >= points.min[at]!)) points.min[at] = rate;
      if (!(rate <= points.max[at]!)) points.max[at] = rate;
      // until there is a rate of a whole cell
      if (held[at] === 0) [points.mean[at], points.count[at]] = [rate, 1];
      return at;
    };
    const interval = Math.round(interval_seconds * 1000);
    const counter = { values: kept, times, first: 0, last: count - 1, sparse: table.sparse === true, interval };
    eachRate(counter, {
      look,
      rate(rate, from, to) {
        const at = look(rate, times[to]!);
        if (held[at]! > 0) points.count[at]!++;
        const span = times[to]! - times[from]!;
        held[at]! += span;
        points.mean[at]! += (rate - points.mean[at]!) * (span / held[at]!);
      },
    });
  }
  return points;
}
