/** When something went on, as pairs of times that neither overlap nor touch, by time. */
export type Intervals = readonly (readonly [from: number, to: number])[];

export const ALWAYS: Intervals = [[Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY]];

/** Intervals of any order, joined where they overlap or touch; those with an unknown end are left out. */
export function union(starts: readonly number[], ends: readonly number[]): Intervals {
  const order = starts.map((_, i) => i).filter((i) => ends[i]! >= starts[i]!);
  order.sort((a, b) => starts[a]! - starts[b]!);
  const joined: [number, number][] = [];
  for (const i of order) {
    const last = joined.at(-1);
    if (last !== undefined && starts[i]! <= last[1]) {
      if (ends[i]! > last[1]) last[1] = ends[i]!;
    } else joined.push([starts[i]!, ends[i]!]);
  }
  return joined;
}

/** The parts of them between two times. */
export const within = (intervals: Intervals, start: number, end: number): Intervals =>
  intervals.map(([from, to]) => [Math.max(from, start), Math.min(to, end)] as const).filter(([from, to]) => from < to);

export const lengthOf = (intervals: Intervals): number => intervals.reduce((sum, [from, to]) => sum + to - from, 0);

/** What lies in both. */
export function intersect(a: Intervals, b: Intervals): Intervals {
  const both: [number, number][] = [];
  for (let i = 0, k = 0; i < a.length && k < b.length; ) {
    const from = Math.max(a[i]![0], b[k]![0]);
    const to = Math.min(a[i]![1], b[k]![1]);
    if (from <= to) both.push([from, to]);
    if (a[i]![1] < b[k]![1]) i++;
    else k++;
  }
  return both;
}

/** Whether a moment lies in one of them; their ends belong to them. */
export const holds = (intervals: Intervals, moment: number): boolean =>
  intervals.some(([from, to]) => moment >= from && moment <= to);
