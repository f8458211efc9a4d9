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
  const row = new Float64Array(columns);
  for (let i = 0; i < n; i++) {
    const at = rows[i]! * columns;
    for (let a = 0; a < columns; a++) {
      const difference = values[at + a]! - centre[a]!;
      row[a] = difference;
      for (let b = 0, c = a * columns; b <= a; b++, c++) covariance[c]! += difference * row[b]!;
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

/** The squared Mahalanobis distances of all rows. */
export function squaredDistances({ centre, factor }: Cloud, { rows, columns: p, values }: Matrix): Float64Array {
  const distances = new Float64Array(rows);
  /** The row in terms of the cloud: the factor's triangle solved from the top. */
  const solved = new Float64Array(p);
  const inverse = new Float64Array(p);
  for (let a = 0; a < p; a++) inverse[a] = 1 / factor[a * p + a]!;
  for (let row = 0, at = 0; row < rows; row++, at += p) {
    let total = 0;
    for (let a = 0; a < p; a++) {
      let sum = values[at + a]! - centre[a]!;
      for (let k = 0, f = a * p; k < a; k++, f++) sum -= factor[f]! * solved[k]!;
      sum *= inverse[a]!;
      solved[a] = sum;
      total += sum * sum;
    }
    distances[row] = total;
  }
  return distances;
}
