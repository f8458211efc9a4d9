/** When something went on, as pairs of times that neither overlap nor touch, by time. */
export type Intervals = readonly (readonly [from: number, to: number])[];

export const ALWAYS: Intervals = [[Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY]];

/** Intervals of any order, joined where they overlap or touch; those with an unknown end are left out. */
export function union(starts: ArrayLike<number>, ends: ArrayLike<number>): Intervals {
  const from = new Float64Array(starts.length);
  const to = new Float64Array(starts.length);
  let count = 0;
  for (let i = 0; i < starts.length; i++) {
    if (!(ends[i]! >= starts[i]!)) continue;
    from[count] = starts[i]!;
    to[count++] = ends[i]!;
  }
  // numbers alone are put in order without a call for each two: nothing goes on where as many have ended as have begun
  from.subarray(0, count).sort();
  to.subarray(0, count).sort();
  const joined: [number, number][] = [];
  for (let first = 0, k = 0; k < count; k++) {
    if (k + 1 < count && from[k + 1]! <= to[k]!) continue;
    joined.push([from[first]!, to[k]!]);
    first = k + 1;
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
