/**
 * How much of something was used up to a moment, from its first moment to its last; times are epoch microseconds. The use of a
 * span of time is the difference of two points, so that the uses of neighbouring spans add up.
 */
export interface Curve {
  from: number;
  to: number;
  /** Before `from` and after `to` it stands still. */
  at(time: number): number;
  /** The same moment, or the next (the last) one of which it is known: other ones lie in a gap, or outside. */
  next(time: number): number;
  previous(time: number): number;
}

/** What was used, and in how many seconds of the span that is known. */
export interface Used {
  amount: number;
  seconds: number;
}

/** In a gap nobody knows when it was used: it counts only in spans that have all of the gap. undefined: nothing is known. */
export function between(curve: Curve, from: number, to: number): Used | undefined {
  const [first, last] = [curve.next(from), curve.previous(to)];
  if (!(last > first)) return undefined;
  return { amount: curve.at(last) - curve.at(first), seconds: (last - first) / 1e6 };
}

/** The same of several spans of time that do not overlap. */
export function over(curve: Curve, spans: Iterable<readonly [from: number, to: number]>): Used | undefined {
  let sum: Used | undefined;
  for (const [from, to] of spans) {
    const used = between(curve, from, to);
    if (used === undefined) continue;
    sum = { amount: (sum?.amount ?? 0) + used.amount, seconds: (sum?.seconds ?? 0) + used.seconds };
  }
  return sum;
}

export const total = (curve: Curve): number => curve.at(curve.to) - curve.at(curve.from);

/** The place of the first point after a moment. */
function placeAfter(times: ArrayLike<number>, time: number): number {
  let [low, high] = [0, times.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle]! <= time) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Through points by time, straight in between; steps that are longer than `farthest` are gaps. undefined: no points. */
export function through(
  times: ArrayLike<number>,
  used: ArrayLike<number>,
  farthest = Number.POSITIVE_INFINITY,
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
    at(time) {
      const next = placeAfter(times, time);
      if (next === 0) return used[0]!;
      if (next > last) return used[last]!;
      const [begin, end] = [times[next - 1]!, times[next]!];
      return used[next - 1]! + (used[next]! - used[next - 1]!) * ((time - begin) / (end - begin));
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

/** All of them together; known from the first moment of any to the last, without gaps. */
export function sumOf(curves: readonly Curve[]): Curve | undefined {
  if (curves.length === 0) return undefined;
  let [from, to] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const curve of curves) {
    from = Math.min(from, curve.from);
    to = Math.max(to, curve.to);
  }
  const within = (time: number): number => Math.min(Math.max(time, from), to);
  return {
    from,
    to,
    at: (time) => curves.reduce((sum, curve) => sum + curve.at(time), 0),
    next: within,
    previous: within,
  };
}

/** Evenly from one moment to another. */
export const even = (from: number, to: number, amount: number): Curve =>
  through(to > from ? [from, to] : [from, from], [0, amount])!;

/** A curve, and before it what was used evenly from a moment on. */
export function preceded(curve: Curve, begin: number, amount: number): Curve {
  const from = Math.min(begin, curve.from - 1);
  const before = even(from, curve.from, amount);
  const isBefore = (time: number): boolean => time < curve.from;
  return {
    ...curve,
    from,
    at: (time) => before.at(time) + curve.at(time),
    next: (time) => (isBefore(time) ? Math.max(time, from) : curve.next(time)),
    previous: (time) => (isBefore(time) ? Math.max(time, from) : curve.previous(time)),
  };
}

/** The same shape, another total. */
export function scaled(curve: Curve, wanted: number): Curve {
  const all = total(curve);
  const factor = all > 0 ? wanted / all : 0;
  return factor === 1 ? curve : { ...curve, at: (time) => curve.at(time) * factor };
}

/** One curve less another that is in it, whose moments may be later or earlier: it never falls. `moments` are those to look at. */
export function minus(curve: Curve, own: Curve, moments: ArrayLike<number>): Curve {
  const times = [curve.from, ...Array.from(moments).filter((time) => time > curve.from)];
  let most = Number.NEGATIVE_INFINITY;
  const rest = times.map((time) => {
    most = Math.max(most, curve.at(time) - own.at(time));
    return most;
  });
  return { ...curve, at: through(times, rest)!.at };
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
      if (next === 0 || next === moments.length) return count.at(time);
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
