import type { Matrix } from './matrix.ts';

/** A cloud of points: its middle and its shape. */
export interface Cloud {
  centre: Float64Array;
  /** Lower triangle by rows: the Cholesky factor of the covariance. */
  factor: Float64Array;
  /** The logarithm of the covariance's determinant. */
  logDeterminant: number;
}

/** The mean and covariance (divided by n − 1) of some rows. */
export function covarianceOf(
  { columns, values }: Matrix,
  rows: ArrayLike<number>,
): { centre: Float64Array; covariance: Float64Array } {
  const n = rows.length;
  const centre = new Float64Array(columns);
  for (let i = 0; i < n; i++) {
    const at = rows[i]! * columns;
    for (let c = 0; c < columns; c++) centre[c]! += values[at + c]!;
  }
  for (let c = 0; c < columns; c++) centre[c]! /= n;
  const covariance = new Float64Array(columns * columns);
  for (let i = 0; i < n; i++) {
    const at = rows[i]! * columns;
    for (let a = 0; a < columns; a++) {
      const difference = values[at + a]! - centre[a]!;
      for (let b = 0; b <= a; b++) covariance[a * columns + b]! += difference * (values[at + b]! - centre[b]!);
    }
  }
  for (let a = 0; a < columns; a++) {
    for (let b = 0; b <= a; b++) {
      covariance[a * columns + b]! /= n - 1;
      covariance[b * columns + a] = covariance[a * columns + b]!;
    }
  }
  return { centre, covariance };
}

/** Prepares distances; undefined when the covariance is singular: the points lie on a line or plane. */
export function cloudOf(centre: Float64Array, covariance: Float64Array): Cloud | undefined {
  const p = centre.length;
  const factor = new Float64Array(p * p);
  let logDeterminant = 0;
  for (let a = 0; a < p; a++) {
    for (let b = 0; b <= a; b++) {
      let sum = covariance[a * p + b]!;
      for (let k = 0; k < b; k++) sum -= factor[a * p + k]! * factor[b * p + k]!;
      if (a !== b) factor[a * p + b] = sum / factor[b * p + b]!;
      else {
        // what is left of a variance of 1 after 1e-12 of it is rounding
        if (!(sum > 1e-12 * covariance[a * p + a]!)) return undefined;
        factor[a * p + a] = Math.sqrt(sum);
        logDeterminant += Math.log(sum);
      }
    }
  }
  return { centre, factor, logDeterminant };
}

/** The squared Mahalanobis distance of one row. */
export function squaredDistance(
  cloud: Cloud,
  { columns: p, values }: Matrix,
  row: number,
  scratch: Float64Array,
): number {
  const { centre, factor } = cloud;
  let total = 0;
  for (let a = 0; a < p; a++) {
    let sum = values[row * p + a]! - centre[a]!;
    for (let k = 0; k < a; k++) sum -= factor[a * p + k]! * scratch[k]!;
    const value = sum / factor[a * p + a]!;
    scratch[a] = value;
    total += value * value;
  }
  return total;
}

/** The squared Mahalanobis distances of all rows. */
export function squaredDistances(cloud: Cloud, matrix: Matrix): Float64Array {
  const scratch = new Float64Array(matrix.columns);
  const found = new Float64Array(matrix.rows);
  for (let r = 0; r < matrix.rows; r++) found[r] = squaredDistance(cloud, matrix, r, scratch);
  return found;
}
