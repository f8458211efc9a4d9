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

/** Rows of a part that follow each other as they do in the whole, from row `at` of that on. */
interface Run {
  row: number;
  at: number;
  length: number;
}

/** A row of a part that is not from the moment of its sample. */
interface Moment {
  row: number;
  moment: number;
}

/** Copying so few values one by one is faster. */
const FEW = 16;

/** Confines a batch to the rows between `from` and `to`, both included, or to those in `intervals`. */
export function clip(batch: Batch, range: Clip): Batch {
  const { from = Number.NEGATIVE_INFINITY, to = Number.POSITIVE_INFINITY, intervals = [[from, to]] } = range;
  if (intervals.some(([first, last]) => first === Number.NEGATIVE_INFINITY && last === Number.POSITIVE_INFINITY))
    return batch;
  const { time, series } = batch;
  const sparse = batch.table.sparse === true;
  const hold = range.hold === true && sparse;
  const between = range.edges === true && batch.table.events !== true;
  if (!hold && !between && intervals.length === 1 && isWithin(batch, ...intervals[0]!)) return batch;
  const interval = (batch.interval_seconds ?? Number.NaN) * 1e6;
  const edges: Edge[] = [];
  const runs: Run[] = [];
  const moments: Moment[] = [];
  let rows = 0;
  const take = (at: number, length: number): void => {
    runs.push({ row: rows, at, length });
    rows += length;
  };
  /** What row `at` says is taken to hold at a moment. */
  const takeAt = (at: number, moment: number): void => {
    moments.push({ row: rows, moment });
    take(at, 1);
  };
  /** The next row is one between row `i` and the one before it, if these are not too far apart. */
  const edge = (i: number, moment: number, begins: boolean): boolean => {
    if (!between || !(sparse || time[i]! - time[i - 1]! <= farthest(interval))) return false;
    const share = shareBefore(moment, { before: time[i - 1]!, after: time[i]! }, sparse ? interval : undefined);
    edges.push({ row: rows, before: i - 1, after: i, share, begins });
    return true;
  };
  const held: Held[] = [];
  const starts: number[] = [];
  const stretches: number[] = [];
  for (let s = 0; s + 1 < series.length; s++) {
    const end = series[s + 1]!;
    const own = rows;
    let last = series[s]!;
    for (const [from, to] of intervals) {
      const begin = rows;
      const first = firstAtOrAfter(time, from, last, end);
      // a series whose last row is before `from` has ended: nothing holds any more
      if (first > series[s]! && first < end && time[first] !== from && (edge(first, from, true) || hold)) {
        if (hold) held.push({ row: rows, at: first - 1, since: series[s]! });
        takeAt(first - 1, from);
      }
      last = firstAtOrAfter(time, to, first, end);
      if (last < end && time[last] === to) last++;
      if (last > first) take(first, last - first);
      const isShort = last > first ? time[last - 1]! < to : from < to;
      // what the last row says holds until the next one, which is beyond the range
      if (last < end && rows > begin && isShort && (edge(last, to, last === first) || hold)) takeAt(last - 1, to);
      if (rows > begin) stretches.push(begin);
    }
    if (rows > own) starts.push(own);
  }
  stretches.push(rows);
  starts.push(rows);
  const pick = <T extends Float64Array | Uint32Array>(from: T, into: T): T => {
    for (const { row, at, length } of runs) {
      if (length > FEW) into.set(from.subarray(at, at + length), row);
      else for (let i = 0; i < length; i++) into[row + i] = from[at + i]!;
    }
    return into;
  };
  const numbers = new Map<string, Float64Array>();
  for (const [name, old] of batch.numbers) numbers.set(name, pick(old, new Float64Array(rows)));
  const texts: Batch['texts'] = new Map();
  for (const [name, { values, codes }] of batch.texts)
    texts.set(name, { values, codes: pick(codes, new Uint32Array(rows)) });
  const times = pick(time, new Float64Array(rows));
  for (const { row, moment } of moments) times[row] = moment;
  const clipped: Batch = {
    table: batch.table,
    rows,
    time: times,
    numbers,
    texts,
    series: Uint32Array.from(starts),
    ...(intervals.length > 1 ? { stretches: Uint32Array.from(stretches) } : {}),
    ...(batch.interval_seconds === undefined ? {} : { interval_seconds: batch.interval_seconds }),
    ...(batch.began === undefined ? {} : { began: batch.began }),
  };
  if (between) setEdges(batch, clipped, edges);
  for (const [name, { codes }] of clipped.texts) holdTexts(batch.texts.get(name)!, codes, held);
  return clipped;
}

function isWithin({ time, series }: Batch, from: number, to: number): boolean {
  for (let s = 0; s + 1 < series.length; s++)
    if (!(time[series[s]!]! >= from && time[series[s + 1]! - 1]! <= to)) return false;
  return true;
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
    let textRow = at;
    while (textRow > since && whole.values[whole.codes[textRow]!] === '') textRow--;
    codes[row] = whole.codes[textRow]!;
  }
}

/** Puts what lies between two samples into the rows at the edges of a part. */
function setEdges(whole: Batch, clipped: Batch, edges: readonly Edge[]): void {
  const { columns, sparse } = whole.table;
  for (const [name, values] of clipped.numbers) {
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
  clipped.edges = new Uint8Array(clipped.rows);
  for (const { row } of edges) clipped.edges[row] = 1;
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
