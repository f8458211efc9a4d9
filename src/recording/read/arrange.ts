import { inBlocks } from '../../base/blocks.ts';
import type { Table } from '../../table/table.ts';
import type { Batch, TextColumn } from './batch.ts';
import type { Rows } from './rows.ts';

/**
 * Rows in any order become a batch: sorted by keys and time, rows with the same keys and time once.
 * Two events may happen at the same moment: of those, only rows that are equal in everything count once,
 * and none when they are known to be distinct.
 */
export function arrange(rows: Rows, table: Table, distinct = false): Batch {
  const count = rows.length;
  const textColumns = new Map<string, TextColumn>();
  for (const [name, { codes, pool }] of rows.texts) textColumns.set(name, { codes, values: pool.values() });
  const keys = table.keys.map((key) => textColumns.get(key.name)!);
  const sorted = sortedSeries(keys, rows.time, count);
  if (sorted !== undefined) return inPlace(rows, table, textColumns, sorted);
  const { series, total } = seriesOf(keys, count);
  const columns = [...rows.numbers.values(), ...[...rows.texts.values()].map(({ codes }) => codes)];
  const equal = (a: number, b: number): boolean =>
    !distinct && columns.every((column) => Object.is(column[a], column[b]));
  const { order, starts } = sortByTime(series, total, rows.time, count, table.events === true ? equal : () => true);
  const kept = order?.length ?? count;
  const pick = <T extends Float64Array | Uint32Array>(values: T, into: T): T => {
    for (let i = 0; i < kept; i++) into[i] = values[order![i]!]!;
    return into;
  };
  const numbers = new Map<string, Float64Array>();
  for (const [name, values] of rows.numbers) {
    numbers.set(name, order === undefined ? firstOf(values, count) : pick(values, new Float64Array(kept)));
  }
  const texts = new Map<string, TextColumn>();
  for (const [name, { codes, values }] of textColumns) {
    const sorted = order === undefined ? firstOf(codes, count) : pick(codes, new Uint32Array(kept));
    texts.set(name, { codes: sorted, values });
  }
  const time = order === undefined ? firstOf(rows.time, count) : pick(rows.time, new Float64Array(kept));
  return { table, rows: kept, time, numbers, texts, series: starts };
}

interface Numbered {
  /** For each row, the number of its series. */
  series: Uint32Array | undefined;
  total: number;
}

/** Series are numbered in the order of their keys. */
function seriesOf(keys: readonly TextColumn[], count: number): Numbered {
  if (keys.length === 0) return { series: undefined, total: count > 0 ? 1 : 0 };
  const numbers = keys.map(({ values }) => numbersOf(values));
  let series = new Uint32Array(count);
  let total = 1;
  for (const [k, { codes, values }] of keys.entries()) {
    const rank = ranksOf(values, numbers[k]!);
    const width = values.length;
    if (total * width <= 1 << 22) {
      for (let i = 0; i < count; i++) series[i] = series[i]! * width + rank[codes[i]!]!;
      total *= width;
    } else ({ series, total } = compact(series, rank, codes, width, count));
  }
  return { series, total };
}

/** What keys count for among numbers; all texts are behind them. */
function numbersOf(values: readonly string[]): Float64Array {
  const numbers = new Float64Array(values.length);
  for (let i = 0; i < numbers.length; i++) numbers[i] = numberOf(values[i]!);
  return numbers;
}

/** More digits than these are a text. */
const MOST_DIGITS = 15;

function numberOf(text: string): number {
  if (text.length === 0 || text.length > MOST_DIGITS) return Number.POSITIVE_INFINITY;
  let number = 0;
  for (let i = 0; i < text.length; i++) {
    const digit = text.charCodeAt(i) - 48;
    if (digit < 0 || digit > 9) return Number.POSITIVE_INFINITY;
    number = number * 10 + digit;
  }
  return number;
}

/**
 * Where each series begins, if the rows come by keys and time already, each once: those of a sealed file do. Each row need
 * only be compared with the one before it.
 */
function sortedSeries(texts: readonly TextColumn[], time: Float64Array, count: number): Uint32Array | undefined {
  const starts = [0];
  // what a text counts for is looked up once, not for each of thousands of processes
  const keys = texts.map(({ codes, values }) => ({ codes, values, numbers: numbersOf(values) }));
  for (let from = 0; from < count; ) {
    // as long as no key changes, times must grow
    let to = count;
    for (const { codes } of keys) to = inBlocks(from + 1, to, sameUntil, codes);
    if (inBlocks(from + 1, to, risesUntil, time) < to || (to < count && !isBefore(keys, to - 1, to))) return undefined;
    starts.push(to);
    from = to;
  }
  return Uint32Array.from(starts);
}

function sameUntil(from: number, to: number, codes: Uint32Array): number {
  let i = from;
  while (i < to && codes[i] === codes[i - 1]) i++;
  return i;
}

function risesUntil(from: number, to: number, time: Float64Array): number {
  let i = from;
  while (i < to && time[i]! > time[i - 1]!) i++;
  return i;
}

interface SortKey extends TextColumn {
  numbers: Float64Array;
}

/** Whether the keys of a row come before those of another one. */
function isBefore(keys: readonly SortKey[], a: number, b: number): boolean {
  for (const { codes, values, numbers } of keys) {
    const [left, right] = [codes[a]!, codes[b]!];
    if (left === right) continue;
    const order = compareTexts(values, numbers, left, right);
    if (order !== 0) return order < 0;
  }
  return false;
}

/** Keys that are numbers come first, by value ("gpu 2" before "gpu 10"), then texts. `numbers`: what the texts count for. */
function compareTexts(values: readonly string[], numbers: Float64Array, a: number, b: number): number {
  const difference = numbers[a]! - numbers[b]!;
  // two texts are infinitely far away, and so not apart
  if (difference < 0 || difference > 0) return difference;
  return values[a]! < values[b]! ? -1 : values[a]! > values[b]! ? 1 : 0;
}

/** The first values. All of them are taken as they are: V8 keeps short arrays in its heap until somebody asks for a part. */
const firstOf = <T extends Float64Array | Uint32Array>(values: T, count: number): T =>
  values.length === count ? values : (values.subarray(0, count) as T);

/** The batch of rows that stay where they are. */
function inPlace(rows: Rows, table: Table, textColumns: Map<string, TextColumn>, series: Uint32Array): Batch {
  const count = rows.length;
  // mostly they have just as much room as there are rows
  if (rows.capacity === count)
    return { table, rows: count, time: rows.time, numbers: rows.numbers, texts: textColumns, series };
  const numbers = new Map<string, Float64Array>();
  for (const [name, values] of rows.numbers) numbers.set(name, firstOf(values, count));
  const texts = new Map<string, TextColumn>();
  for (const [name, { codes, values }] of textColumns) texts.set(name, { codes: firstOf(codes, count), values });
  return { table, rows: count, time: firstOf(rows.time, count), numbers, texts, series };
}

/** The place of each text among all of them. */
function ranksOf(values: readonly string[], numbers: Float64Array): Uint32Array {
  const rank = new Uint32Array(values.length);
  values
    .map((_, code) => code)
    .sort((a, b) => compareTexts(values, numbers, a, b))
    .forEach((code, rankOfCode) => {
      rank[code] = rankOfCode;
    });
  return rank;
}

/** The same when most combinations do not occur: only those that do get a number. */
function compact(
  before: Uint32Array,
  rank: Uint32Array,
  codes: Uint32Array,
  width: number,
  count: number,
): { series: Uint32Array<ArrayBuffer>; total: number } {
  const rankOfCode = new Map<number, number>();
  for (let i = 0; i < count; i++) rankOfCode.set(before[i]! * width + rank[codes[i]!]!, 0);
  const sorted = Float64Array.from(rankOfCode.keys()).sort();
  sorted.forEach((combined, rankOfPair) => {
    rankOfCode.set(combined, rankOfPair);
  });
  const series = new Uint32Array(count);
  for (let i = 0; i < count; i++) series[i] = rankOfCode.get(before[i]! * width + rank[codes[i]!]!)!;
  return { series, total: sorted.length };
}

/** Where each row goes (undefined: all stay where they are), and where each series that has rows begins. */
function sortByTime(
  series: Uint32Array | undefined,
  total: number,
  time: Float64Array,
  count: number,
  equal: (a: number, b: number) => boolean,
): { order: Uint32Array | undefined; starts: Uint32Array } {
  const ends = new Uint32Array(total + 1);
  for (let i = 0; i < count; i++) ends[(series?.[i] ?? 0) + 1]!++;
  for (let s = 0; s < total; s++) ends[s + 1]! += ends[s]!;
  const begins = ends.slice(0, total);
  const order = new Uint32Array(count);
  const next = begins.slice();
  if (series === undefined) for (let i = 0; i < count; i++) order[i] = i;
  else for (let i = 0; i < count; i++) order[next[series[i]!]!++] = i;
  const starts: number[] = [];
  let kept = 0;
  for (let s = 0; s < total; s++) {
    const from = begins[s]!;
    const to = ends[s + 1]!;
    if (from === to) continue;
    starts.push(kept);
    let ascending = true;
    for (let i = from + 1; i < to && ascending; i++) ascending = time[order[i]!]! > time[order[i - 1]!]!;
    if (ascending) {
      if (kept !== from) order.copyWithin(kept, from, to);
      kept += to - from;
      continue;
    }
    // ties stay in the order of the files: the first one counts
    const rows = order.slice(from, to).sort((a, b) => time[a]! - time[b]! || a - b);
    const begin = kept;
    for (const row of rows) {
      let twice = false;
      for (let i = kept - 1; i >= begin && time[order[i]!] === time[row] && !twice; i--) twice = equal(order[i]!, row);
      if (!twice) order[kept++] = row;
    }
  }
  starts.push(kept);
  let same = kept === count;
  for (let i = 0; i < kept && same; i++) same = order[i] === i;
  return { order: same ? undefined : order.subarray(0, kept), starts: Uint32Array.from(starts) };
}
