/** When something went on, as pairs of times that neither overlap nor touch, by time. */
export type Intervals = readonly (readonly [from: number, to: number])[];

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
