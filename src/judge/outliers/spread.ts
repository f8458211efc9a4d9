import { quantiles } from '../../recording/sealed/quantiles.ts';

/** How the values of one feature lie: all that the univariate methods and a reference model need of them. */
export interface Spread {
  /** Values that are known. */
  count: number;
  min: number;
  max: number;
  mean: number;
  /** Standard deviation of these values themselves (divided by their number). */
  deviation: number;
  median: number;
  /** The median of the distances from the median (MAD), and their mean. */
  median_distance: number;
  mean_distance: number;
  /** The largest distance from the median. */
  largest_distance: number;
  /** Quartiles, interpolated between values. */
  q1: number;
  q3: number;
}

/** The spread of what is known; undefined when nothing is. */
export function spreadOf(values: Float64Array | readonly (number | undefined)[]): Spread | undefined {
  const finiteValues = knownOf(values);
  const count = finiteValues.length;
  if (count === 0) return undefined;
  let min = finiteValues[0]!;
  let max = min;
  let total = 0;
  for (let i = 0; i < count; i++) {
    const value = finiteValues[i]!;
    if (value < min) min = value;
    if (value > max) max = value;
    total += value;
  }
  // rounding must not give equal values a spread
  const mean = min === max ? min : total / count;
  const [q1, median, q3] = quantiles(finiteValues, count, [0.25, 0.5, 0.75]) as [number, number, number];
  let squares = 0;
  let distances = 0;
  for (let i = 0; i < count; i++) {
    const value = finiteValues[i]!;
    squares += (value - mean) ** 2;
    finiteValues[i] = Math.abs(value - median);
    distances += finiteValues[i]!;
  }
  return {
    count,
    min,
    max,
    mean,
    deviation: Math.sqrt(squares / count),
    median,
    median_distance: quantiles(finiteValues, count, [0.5])[0]!,
    mean_distance: distances / count,
    largest_distance: Math.max(max - median, median - min),
    q1,
    q3,
  };
}

/** A copy without what is missing. */
function knownOf(values: Float64Array | readonly (number | undefined)[]): Float64Array {
  const finiteValues = new Float64Array(values.length);
  let count = 0;
  for (let i = 0; i < values.length; i++) {
    const value = values[i];
    if (value !== undefined && Number.isFinite(value)) finiteValues[count++] = value;
  }
  return finiteValues.subarray(0, count);
}
