import { ifFinite } from '../../query/material.ts';
import { spreadOf } from './spread.ts';
import { modifiedZScore } from './univariate.ts';

/** Fewer peers say nothing about who is normal. */
export const FEWEST_PEERS = modifiedZScore.needs;

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
  const spread = spreadOf(values);
  if (spread === undefined || spread.count < FEWEST_PEERS) return [];
  const outlierList: Outlier[] = [];
  values.forEach((value, index) => {
    if (ifFinite(value) === undefined || Math.abs(value! - spread.median) <= floor) return;
    // without a deviation the floor alone decides
    if (spread.median_distance > 0 && modifiedZScore.score(value!, spread) <= modifiedZScore.threshold) return;
    outlierList.push({ index, value: value!, median: spread.median });
  });
  return outlierList;
}
