import type { Intervals } from '../../base/intervals.ts';
import type { Batch } from './batch.ts';
import { type Around, farthest, grown, shareBefore } from './edges.ts';

export interface Clip {
  from?: number;
  to?: number;
  /** The same of several stretches of time. */
  intervals?: Intervals;
  /** In sparse tables: keep the row that held at `from`, and what holds at `to`. */
  hold?: boolean;
  /** Say what lies between two samples at `from` and at `to`: as rows of their own, marked as edges, or in those that hold. */
  edges?: boolean;
}

/** A row of a part that lies between two samples of the whole. */
interface Edge extends Around {
  row: number;
  share: number;
  /** Whether what follows in the part is the second of the two samples: what is missing is the rest of the step. */
  begins: boolean;
}

/** Confines a batch to the rows between `from` and `to`, both included, or to those in `intervals`. */
export function clip(batch: Batch, range: Clip): Batch {
  if (range.from === undefined && range.to === undefined && range.intervals === undefined) return batch;
  const { from = Number.NEGATIVE_INFINITY, to = Number.POSITIVE_INFINITY } = range;
  const intervals = range.intervals ?? [[from, to]];
  const { time, series } = batch;
  const sparse = batch.table.sparse === true;
  const hold = range.hold === true && sparse;
  const between = range.edges === true && batch.table.events !== true;
  const interval = (batch.interval_seconds ?? Number.NaN) * 1e6;
  const edges: Edge[] = [];
  /** The next row is one between row `i` and the one before it, if these are not too far apart. */
  const edge = (i: number, moment: number, begins: boolean): boolean => {
    if (!between || !(sparse || time[i]! - time[i - 1]! <= farthest(interval))) return false;
    const share = shareBefore(moment, { before: time[i - 1]!, after: time[i]! }, sparse ? interval : undefined);
    edges.push({ row: order.length, before: i - 1, after: i, share, begins });
    return true;
  };
  const held: Held[] = [];
  const order: number[] = [];
  const times: number[] = [];
  const starts: number[] = [];
  const stretches: number[] = [];
  for (let s = 0; s + 1 < series.length; s++) {
    const end = series[s + 1]!;
    const own = order.length;
    let i = series[s]!;
    for (const [from, to] of intervals) {
      const begin = order.length;
      i = firstAtOrAfter(time, from, i, end);
      const first = i;
      // a series whose last row is before `from` has ended: nothing holds any more
      if (i > series[s]! && i < end && time[i] !== from && (edge(i, from, true) || hold)) {
        if (hold) held.push({ row: order.length, at: i - 1, since: series[s]! });
        order.push(i - 1);
        times.push(from);
      }
      for (; i < end && time[i]! <= to; i++) {
        order.push(i);
        times.push(time[i]!);
      }
      // what the last row says holds until the next one, which is beyond the range
      if (i < end && order.length > begin && times.at(-1)! < to && (edge(i, to, i === first) || hold)) {
        order.push(order.at(-1)!);
        times.push(to);
      }
      if (order.length > begin) stretches.push(begin);
    }
    if (order.length > own) starts.push(own);
  }
  stretches.push(order.length);
  starts.push(order.length);
  const rows = order.length;
  const numbers = new Map([...batch.numbers].map(([name, old]) => [name, Float64Array.from(order, (i) => old[i]!)]));
  const texts = new Map(
    [...batch.texts].map(([name, old]) => [
      name,
      { values: old.values, codes: Uint32Array.from(order, (i) => old.codes[i]!) },
    ]),
  );
  const part: Batch = {
    table: batch.table,
    rows,
    time: Float64Array.from(times),
    numbers,
    texts,
    series: Uint32Array.from(starts),
    ...(intervals.length > 1 ? { stretches: Uint32Array.from(stretches) } : {}),
  };
  if (between) setEdges(batch, part, edges);
  for (const [name, { codes }] of part.texts) holdTexts(batch.texts.get(name)!, codes, held);
  return part;
}

/** A row of a part that held when it began: row `at` of the whole, of a series that began with row `since`. */
interface Held {
  row: number;
  at: number;
  since: number;
}

/** What a text was is said once, when it changes: it holds, too. */
function holdTexts(
  whole: { values: readonly string[]; codes: Uint32Array },
  codes: Uint32Array,
  held: readonly Held[],
): void {
  for (const { row, at, since } of held) {
    let said = at;
    while (said > since && whole.values[whole.codes[said]!] === '') said--;
    codes[row] = whole.codes[said]!;
  }
}

/** Puts what lies between two samples into the rows at the edges of a part. */
function setEdges(whole: Batch, part: Batch, edges: readonly Edge[]): void {
  const { columns, sparse } = whole.table;
  for (const [name, values] of part.numbers) {
    const all = whole.numbers.get(name)!;
    const column = columns.find((one) => one.name === name);
    const counter = column?.kind === 'counter';
    // in a sparse table a level holds until the next row
    if (sparse === true && !counter) continue;
    for (const { row, before, after, share, begins } of edges) {
      const [from, to] = [all[before]!, all[after]!];
      const step = counter ? grown(from, to) : to - from;
      const value = begins ? to - step * (1 - share) : from + step * share;
      if (sparse === true && Number.isNaN(value)) continue;
      values[row] = column?.type === 'int' && counter ? Math.round(value) : value;
    }
  }
  if (sparse === true) return;
  part.edges = new Uint8Array(part.rows);
  for (const { row } of edges) part.edges[row] = 1;
}

/** The first place in `from` to `to` whose value is not below `moment`. */
export function firstAtOrAfter(time: Float64Array | Uint32Array, moment: number, from: number, to: number): number {
  let low = from;
  let high = to;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (time[middle]! < moment) low = middle + 1;
    else high = middle;
  }
  return low;
}
