import type { Batch } from './batch.ts';

/** Confines a batch to the rows between `from` and `to`, both included. */
export function clip(batch: Batch, range: { from?: number; to?: number; hold?: boolean }): Batch {
  const from = range.from ?? Number.NEGATIVE_INFINITY;
  const to = range.to ?? Number.POSITIVE_INFINITY;
  if (range.from === undefined && range.to === undefined) return batch;
  const { time, series } = batch;
  const hold = range.hold === true && batch.table.sparse === true;
  const order: number[] = [];
  const times: number[] = [];
  const starts: number[] = [];
  for (let s = 0; s + 1 < series.length; s++) {
    const end = series[s + 1]!;
    const begin = order.length;
    let i = firstAtOrAfter(time, from, series[s]!, end);
    // a series whose last row is before `from` has ended: nothing holds any more
    if (hold && i > series[s]! && i < end && time[i] !== from) {
      order.push(i - 1);
      times.push(from);
    }
    for (; i < end && time[i]! <= to; i++) {
      order.push(i);
      times.push(time[i]!);
    }
    // what the last row says holds until the next one, which is beyond the range
    if (hold && i < end && order.length > begin && times.at(-1)! < to) {
      order.push(order.at(-1)!);
      times.push(to);
    }
    if (order.length > begin) starts.push(begin);
  }
  starts.push(order.length);
  const rows = order.length;
  const numbers = new Map([...batch.numbers].map(([name, old]) => [name, Float64Array.from(order, (i) => old[i]!)]));
  const texts = new Map(
    [...batch.texts].map(([name, old]) => [
      name,
      { values: old.values, codes: Uint32Array.from(order, (i) => old.codes[i]!) },
    ]),
  );
  return { table: batch.table, rows, time: Float64Array.from(times), numbers, texts, series: Uint32Array.from(starts) };
}

function firstAtOrAfter(time: Float64Array, moment: number, from: number, to: number): number {
  let low = from;
  let high = to;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (time[middle]! < moment) low = middle + 1;
    else high = middle;
  }
  return low;
}
