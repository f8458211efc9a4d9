import type { Spread } from './spread.ts';

/** A method that looks at one feature at a time. */
export interface UnivariateMethod {
  readonly name: string;
  /** A score above this is a vote. */
  readonly threshold: number;
  /** Fewer values than this say nothing, or can never give a vote, when each is judged among all. */
  readonly needs: number;
  /** Why this spread, of which the judged value is a part, cannot tell anybody apart; undefined: it can. */
  unable(spread: Spread): string | undefined;
  /** How far out a value lies; Infinity where peers are all alike and it is not. */
  score(value: number, spread: Spread): number;
}

/** What is judged against a reference is no part of it and cannot hide itself in it: so few are enough there. */
export const FEWEST_REFERENCES = 3;

/** The 0.75 quantile of the normal distribution: makes the median distance comparable to a standard deviation. */
const NORMAL = 0.6745;

/** Distance over spread; nothing is far from itself, everything else is infinitely far from what does not vary. */
const over = (distance: number, spread: number): number =>
  distance === 0 ? 0 : spread > 0 ? distance / spread : Number.POSITIVE_INFINITY;

const tooFew = (needs: number, count: number): string | undefined =>
  count < needs ? `needs ${needs} values, there are ${count}` : undefined;

/** Iglewicz and Hoaglin (1993): distance from the median in robust deviations. */
export const modifiedZScore: UnivariateMethod = {
  name: 'modified z-score',
  threshold: 3.5,
  needs: 4,
  // by the mean distance, one value among n that are alike scores 0.6745 n: among five it cannot reach the threshold
  unable: ({ count, median_distance, min, max }) =>
    tooFew(4, count) ??
    (median_distance > 0 || count >= 6 || min === max
      ? undefined
      : `most are alike: among ${count} no other value can score above 3.5`),
  score: (value, spread) =>
    NORMAL * over(Math.abs(value - spread.median), spread.median_distance || spread.mean_distance),
};

/** Distance from the mean in standard deviations. */
export const zScore: UnivariateMethod = {
  name: 'z-score',
  threshold: 3,
  // among n values none scores more than the root of n − 1
  needs: 11,
  unable: ({ count }) => tooFew(11, count),
  score: (value, spread) => over(Math.abs(value - spread.mean), spread.deviation),
};

/** Tukey's fences: how many interquartile ranges a value lies beyond the quartiles. */
export const interquartileRange: UnivariateMethod = {
  name: 'interquartile range',
  threshold: 1.5,
  // among three, the farthest moves its own fence faster than it goes
  needs: 4,
  unable: ({ count }) => tooFew(4, count),
  score: (value, { q1, q3 }) => over(Math.max(0, q1 - value, value - q3), q3 - q1),
};

export const univariateMethods: readonly UnivariateMethod[] = [modifiedZScore, zScore, interquartileRange];
