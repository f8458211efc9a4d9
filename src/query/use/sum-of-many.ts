import type { Curve } from './curve.ts';

/** A sum is asked for so many moments before an index of it is worth its while. */
const FIRST_LOOKS = 8;
/** The index has so many places at most, and names every curve so often on average. */
const MOST_SLICES = 2048;
const MOST_TIMES = 8;

/** The slices of time that all curves lie in. */
interface Slices {
  from: number;
  width: number;
  count: number;
  /** By slice, the places of the curves that change in it: of slice s from starts[s] on. */
  starts: Uint32Array;
  curves: Uint32Array;
  /** By slice, the sum of those that do not change in it. */
  still: Float64Array;
  /** The sum at the beginning of each slice, and at the end of the last one. */
  edges: Float64Array;
}

/**
 * The sum of many curves, most of which are short: processes. At a moment only those count that change around it; the others
 * are added up once for each slice of time.
 */
export function sumOfMany(curves: readonly Curve[], plain: Curve): Curve {
  const { from, to, moments = [] } = plain;
  let looks = 0;
  let made: Slices | undefined;
  /** undefined: it has been asked for a few moments only. */
  const slices = (): Slices | undefined => {
    if (made === undefined && ++looks > FIRST_LOOKS) made = slicesOf(curves, plain);
    return made;
  };
  const valueAt = (way: 'next' | 'previous') => (time: number) => {
    const index = slices();
    if (index === undefined) return plain[way](time);
    let moment = Math.min(Math.max(time, from), to);
    let slice = sliceAt(index, moment);
    for (let i = index.starts[slice]!; i < index.starts[slice + 1]!; i++) {
      const curveIndex = index.curves[i]!;
      const curve = curves[curveIndex]!;
      if (!(curve.from < moment && moment < curve.to)) continue;
      moment = curve[way](moment);
      const other = sliceAt(index, moment);
      if (other === slice) continue;
      // the curves behind this one are looked at where the moment is now
      slice = other;
      i = index.starts[slice]!;
      while (i < index.starts[slice + 1]! && index.curves[i]! <= curveIndex) i++;
      i--;
    }
    return moment;
  };
  return {
    from,
    to,
    moments,
    at(time) {
      const index = slices();
      if (index === undefined) return plain.at(time);
      const slice = sliceAt(index, time);
      const sum = sumIn(curves, index, slice, time);
      // added up in another order: it must not fall by what was rounded
      return Math.min(Math.max(sum, index.edges[slice]!), index.edges[slice + 1]!);
    },
    bounds(time) {
      const index = slices();
      if (index === undefined) return plain.bounds(time);
      const slice = sliceAt(index, time);
      const still = index.still[slice]!;
      const curveIndexes = index.curves.subarray(index.starts[slice], index.starts[slice + 1]);
      return addUp([[still, still], ...Array.from(curveIndexes, (curveIndex) => curves[curveIndex]!.bounds(time))]);
    },
    next: valueAt('next'),
    previous: valueAt('previous'),
  };
}

/** Bounds of several curves as one. */
export const addUp = (all: readonly (readonly [number, number])[]): [number, number] =>
  all.reduce<[number, number]>(([low, high], [lowest, highest]) => [low + lowest, high + highest], [0, 0]);

function sliceAt({ from, width, count }: Pick<Slices, 'from' | 'width' | 'count'>, time: number): number {
  return Math.min(Math.max(Math.floor((time - from) / width), 0), count - 1);
}

/** The sum at a moment of this slice. */
function sumIn(
  curves: readonly Curve[],
  { starts, curves: curveIndexes, still }: Pick<Slices, 'starts' | 'curves' | 'still'>,
  slice: number,
  time: number,
): number {
  let sum = still[slice]!;
  for (let i = starts[slice]!; i < starts[slice + 1]!; i++) sum += curves[curveIndexes[i]!]!.at(time);
  return sum;
}

function slicesOf(curves: readonly Curve[], plain: Curve): Slices {
  const { from, to } = plain;
  const whole = Math.max(to - from, 1);
  const lengths = curves.reduce((sum, curve) => sum + (curve.to - curve.from), 0);
  // each curve is in one slice, and in one more for each width that it is long
  const wanted = Math.floor(((MOST_TIMES - 1) * curves.length * whole) / Math.max(lengths, 1));
  const count = Math.max(1, Math.min(MOST_SLICES, wanted));
  const slices = { from, width: whole / count, count };
  const first = Uint32Array.from(curves, (curve) => sliceAt(slices, curve.from));
  const last = Uint32Array.from(curves, (curve) => sliceAt(slices, curve.to));
  const starts = new Uint32Array(count + 1);
  for (let c = 0; c < curves.length; c++) for (let s = first[c]!; s <= last[c]!; s++) starts[s + 1]!++;
  for (let s = 0; s < count; s++) starts[s + 1]! += starts[s]!;
  const filled = starts.slice();
  const curveIndexes = new Uint32Array(starts[count]!);
  const still = new Float64Array(count);
  for (let c = 0; c < curves.length; c++) {
    const curve = curves[c]!;
    const [before, after] = [curve.at(curve.from - 1), curve.at(curve.to)];
    for (let s = first[c]!; s <= last[c]!; s++) curveIndexes[filled[s]!++] = c;
    // what is still before and after it: differences now, sums below
    if (first[c]! > 0) {
      still[0]! += before;
      still[first[c]!]! -= before;
    }
    if (last[c]! + 1 < count) still[last[c]! + 1]! += after;
  }
  for (let s = 1; s < count; s++) still[s]! += still[s - 1]!;
  // before the first slice and after the last one it is not bounded
  const edges = new Float64Array(count + 1).fill(Number.NEGATIVE_INFINITY);
  for (let slice = 1; slice < count; slice++)
    edges[slice] = Math.max(
      edges[slice - 1]!,
      sumIn(curves, { starts, curves: curveIndexes, still }, slice, from + slice * slices.width),
    );
  edges[count] = Number.POSITIVE_INFINITY;
  return { ...slices, starts, curves: curveIndexes, still, edges };
}
