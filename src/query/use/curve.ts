import { addUp, sumOfMany } from './sum-of-many.ts';

/**
 * How much of something was used up to a moment, from its first moment to its last; times are epoch microseconds. The use of a
 * span of time is the difference of two points, so that the uses of neighbouring spans add up.
 */
export interface Curve {
  from: number;
  to: number;
  /** Before `from` and after `to` it stands still. */
  at(time: number): number;
  /** Between two samples it is only known not to fall: the least and the most that it may have been. */
  bounds(time: number): readonly [low: number, high: number];
  /** The same moment, or the next (the last) one of which it is known: other ones lie in a gap, or outside. */
  next(time: number): number;
  previous(time: number): number;
  /** Samples that it was made of, by time. */
  moments?: ArrayLike<number>;
}

/** What was used, and in how many seconds of the span that is known. */
export interface Used {
  amount: number;
  seconds: number;
}

/** The same, and the least and the most that it may have been. */
export interface BoundedUse extends Used {
  low: number;
  high: number;
}

/**
 * What was used in spans of time that do not overlap. In a gap nobody knows when it was used: it counts only in spans that have
 * all of the gap. undefined: nothing is known.
 */
export function over(curve: Curve, spans: Iterable<readonly [from: number, to: number]>): Used | undefined {
  let sum: Used | undefined;
  for (const [from, to] of spans) {
    const [first, last] = [curve.next(from), curve.previous(to)];
    if (!(last > first)) continue;
    const { amount = 0, seconds = 0 } = sum ?? {};
    sum = { amount: amount + curve.at(last) - curve.at(first), seconds: seconds + (last - first) / 1e6 };
  }
  return sum;
}

/** The least and the most that may have been used in these spans. */
export function boundsIn(
  curve: Curve,
  spans: Iterable<readonly [from: number, to: number]>,
): readonly [low: number, high: number] {
  let [low, high] = [0, 0];
  for (const [from, to] of spans) {
    const [first, last] = [curve.bounds(from), curve.bounds(to)];
    low += Math.max(0, last[0] - first[1]);
    high += Math.max(0, last[1] - first[0]);
  }
  return [low, high];
}

export const total = (curve: Curve): number => curve.at(curve.to) - curve.at(curve.from);

/** The place of the first point after a moment. */
export function placeAfter(times: ArrayLike<number>, time: number): number {
  // asked for every sample: no list on the way
  let low = 0;
  let high = times.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle]! <= time) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** How much of step `next` was used when a share of its time was over. */
type Stepped = (share: number, next: number) => number;

const straight: Stepped = (share) => share;

/**
 * Through points by time, straight in between unless `stepped` knows better; steps that are longer than `farthest` are gaps.
 * undefined: no points.
 */
export function through(
  times: ArrayLike<number>,
  used: ArrayLike<number>,
  farthest = Number.POSITIVE_INFINITY,
  stepped = straight,
): Curve | undefined {
  const last = times.length - 1;
  if (last < 0) return undefined;
  const [from, to] = [times[0]!, times[last]!];
  /** The places of the points around a moment in a gap, else undefined. */
  const gap = (time: number): number | undefined => {
    const next = placeAfter(times, time);
    const isGap = next > 0 && next <= last && times[next - 1]! < time && times[next]! - times[next - 1]! > farthest;
    return isGap ? next : undefined;
  };
  const within = (time: number): number => Math.min(Math.max(time, from), to);
  return {
    from,
    to,
    moments: times,
    at(time) {
      const next = placeAfter(times, time);
      if (next === 0) return used[0]!;
      if (next > last) return used[last]!;
      const begin = times[next - 1]!;
      const end = times[next]!;
      return used[next - 1]! + (used[next]! - used[next - 1]!) * stepped((time - begin) / (end - begin), next);
    },
    bounds(time) {
      const next = placeAfter(times, time);
      const low = used[Math.max(0, next - 1)]!;
      return [low, next === 0 || next > last || times[next - 1] === time ? low : used[next]!];
    },
    next(time) {
      const next = gap(time);
      return next === undefined ? within(time) : times[next]!;
    },
    previous(time) {
      const next = gap(time);
      return next === undefined ? within(time) : times[next - 1]!;
    },
  };
}

/** From so many curves on, a sum of them has an index. */
const MANY = 64;

/** All of them together; known from the first moment of any to the last, but for their gaps. */
export function sumOf(curves: readonly Curve[]): Curve | undefined {
  if (curves.length === 0) return undefined;
  let [from, to] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  let moments: ArrayLike<number> = [];
  for (const curve of curves) {
    from = Math.min(from, curve.from);
    to = Math.max(to, curve.to);
    // what is sampled together is sampled at the same time, and longest by the one that has most
    if ((curve.moments?.length ?? 0) > moments.length) moments = curve.moments!;
  }
  const valueAt = (way: 'next' | 'previous') => (time: number) =>
    curves.reduce(
      (moment, curve) => (curve.from < moment && moment < curve.to ? curve[way](moment) : moment),
      Math.min(Math.max(time, from), to),
    );
  const plain: Curve = {
    from,
    to,
    moments,
    at(time) {
      let sum = 0;
      for (const curve of curves) sum += curve.at(time);
      return sum;
    },
    bounds: (time) => addUp(curves.map((curve) => curve.bounds(time))),
    next: valueAt('next'),
    previous: valueAt('previous'),
  };
  return curves.length < MANY ? plain : sumOfMany(curves, plain);
}

/** Evenly from one moment to another. */
export const even = (from: number, to: number, amount: number): Curve =>
  through(to > from ? [from, to] : [from, from], [0, amount])!;

/** A curve, and before it what was used evenly from a moment on. */
export const preceded = (curve: Curve, begin: number, amount: number): Curve =>
  sumOf([even(Math.min(begin, curve.from - 1), curve.from, amount), curve])!;

/** The same shape, another total. */
export function scaled(curve: Curve, wanted: number): Curve {
  const all = total(curve);
  return times(curve, all > 0 ? wanted / all : 0);
}

/** A curve multiplied by a factor. */
export function times(curve: Curve, factor: number): Curve {
  if (factor === 1) return curve;
  const bounds = (time: number): readonly [number, number] => {
    const [low, high] = curve.bounds(time);
    return [low * factor, high * factor];
  };
  return { ...curve, at: (time) => curve.at(time) * factor, bounds };
}

/** One curve less another that is in it, whose moments may be later or earlier: it never falls. `moments` are those to look at. */
export function minus(curve: Curve, own: Curve, moments: ArrayLike<number>): Curve {
  const times = [curve.from, ...Array.from(moments).filter((time) => time > curve.from)];
  let most = Number.NEGATIVE_INFINITY;
  const rest = times.map((time) => {
    most = Math.max(most, curve.at(time) - own.at(time));
    return most;
  });
  const { at, bounds } = through(times, rest)!;
  return { ...curve, at, bounds };
}

/** What one of two parts of a curve has of it: between two moments as much as it has of both, at any time within it. */
export function shareOf(curve: Curve, portion: Curve, other: Curve, moments: ArrayLike<number>): Curve {
  const grew = (of: Curve, from: number, to: number): number => of.at(to) - of.at(from);
  const steps = [curve.from, ...Array.from(moments).filter((time) => time > curve.from && time < curve.to), curve.to];
  const usual = total(portion) / (total(portion) + total(other)) || 0;
  let sum = 0;
  const used = steps.map((time, i) => {
    const before = steps[i - 1] ?? time;
    const [own, both] = [grew(portion, before, time), grew(portion, before, time) + grew(other, before, time)];
    sum += grew(curve, before, time) * (both > 0 ? own / both : usual);
    return sum;
  });
  const stepped: Stepped = (share, next) => {
    const [begin, end] = [steps[next - 1]!, steps[next]!];
    const all = grew(curve, begin, end);
    return all > 0 ? grew(curve, begin, begin + share * (end - begin)) / all : share;
  };
  const { at, bounds } = through(steps, used, Number.POSITIVE_INFINITY, stepped)!;
  return { ...curve, at, bounds };
}

/** A count that saw less than this share of another one, or more by as much, is not of the same. */
const SAME = 0.05;

/** A curve that goes, between the first and the last of these moments, like a finer count of nearly the same. */
export function inside(curve: Curve, fine: Curve, moments: ArrayLike<number>): Curve {
  const [first, last] = [moments[0] ?? Number.NaN, moments[moments.length - 1] ?? Number.NaN];
  const [begin, fineBegin] = [curve.at(first), fine.at(first)];
  const factor = (curve.at(last) - begin) / (fine.at(last) - fineBegin);
  if (!(Math.abs(factor - 1) < SAME)) return curve;
  const isInside = (time: number): boolean => time > first && time < last;
  const like = (used: number): number => begin + (used - fineBegin) * factor;
  return {
    ...curve,
    at: (time) => (isInside(time) ? like(fine.at(time)) : curve.at(time)),
    bounds(time) {
      if (!isInside(time)) return curve.bounds(time);
      const [low, high] = fine.bounds(time);
      return [like(low), like(high)];
    },
  };
}

/**
 * A count that is exact at its moments, and between two of them goes like another curve as far as that has it; the rest is
 * where `capacity` (used in a microsecond, at most) was left.
 */
export function refined(count: Curve, moments: ArrayLike<number>, fine: Curve, capacity: number): Curve {
  return {
    ...count,
    at(time) {
      const next = placeAfter(moments, time);
      if (next === 0 || next === moments.length || moments[next - 1] === time) return count.at(time);
      const [begin, end] = [moments[next - 1]!, moments[next]!];
      const [low, grown] = [count.at(begin), count.at(end) - count.at(begin)];
      const [before, all] = [fine.at(time) - fine.at(begin), fine.at(end) - fine.at(begin)];
      if (all >= grown) return low + (all > 0 ? (grown * before) / all : 0);
      const share = (grown - all) / (capacity * (end - begin) - all);
      // more than fits goes by time
      if (!(share >= 0 && share <= 1)) return low + (grown * (time - begin)) / (end - begin);
      return low + (1 - share) * before + share * capacity * (time - begin);
    },
  };
}
