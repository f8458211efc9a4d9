import { known, median } from './material.ts';

/** Beyond so many robust deviations (1.4826 × median absolute deviation) a value is far from its peers. */
export const FAR = 3.5;

/** Fewer peers say nothing about who is normal. */
export const FEWEST_PEERS = 4;

export interface Outlier {
  index: number;
  value: number;
  median: number;
}

/**
 * Values that lie far from the median of their peers. `floor` is the smallest difference that matters to anyone:
 * when all peers are alike to a hair, the deviation alone would flag noise.
 */
export function outliers(values: readonly (number | undefined)[], floor: number): Outlier[] {
  const middle = median(values);
  const peers = values.filter((v) => known(v) !== undefined).length;
  if (middle === undefined || peers < FEWEST_PEERS) return [];
  const spread = 1.4826 * median(values.map((v) => (known(v) === undefined ? undefined : Math.abs(v! - middle))))!;
  const limit = Math.max(floor, FAR * spread);
  const found: Outlier[] = [];
  values.forEach((value, index) => {
    if (known(value) !== undefined && Math.abs(value! - middle) > limit)
      found.push({ index, value: value!, median: middle });
  });
  return found;
}
