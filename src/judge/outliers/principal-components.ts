import { Matrix as DenseMatrix, EigenvalueDecomposition } from 'ml-matrix';
import { quantiles } from '../../recording/sealed/quantiles.ts';
import { covarianceOf } from './mahalanobis.ts';
import type { Matrix } from './matrix.ts';
import { spreadOf } from './spread.ts';

/** Share of the variance that rows have in common; the rest may belong to single rows. */
export const COMMON = 0.85;
/** The share of rows, those nearest to the middle, that the components are learned from: outliers would bend them. */
const INNER = 0.75;
/** The 0.999 quantile of the normal distribution. */
const RARE = 3.0902;

export interface Reconstruction {
  /** How many components were kept. */
  components: number;
  /** Beyond this error a row does not follow the pattern of the others. */
  cut: number;
  /** How far rows lie from the plane of the kept components. */
  errors(matrix: Matrix): Float64Array;
}

/**
 * Learns the few directions in which rows vary together, and how far from them rows usually lie: the orthogonal distance
 * and its cut-off by Hubert, Rousseeuw and Vanden Branden (2005). Columns must have their middle at 0 and be of
 * comparable spread. Undefined when nothing is left beside the kept components.
 */
export function principalComponents(matrix: Matrix): Reconstruction | undefined {
  const { columns: p } = matrix;
  if (p < 2) return undefined;
  const { centre, directions, total } = directionsOf(matrix);
  let components = 0;
  let explained = 0;
  while (components < p - 1 && explained < COMMON * total) explained += directions[components++]!.variance;
  // what rounding leaves is no pattern to differ from
  if (!(total - explained > 1e-9 * total)) return undefined;

  const axes = directions.slice(0, components).map(({ axis }) => axis);
  const errors = (given: Matrix): Float64Array =>
    Float64Array.from({ length: given.rows }, (_, row) => errorOf(given, row, centre, axes));
  // to the power of 2/3 the distances are nearly normal
  const usual = spreadOf(errors(matrix).map((error) => error ** (2 / 3)))!;
  const cut = (usual.median + RARE * 1.4826 * usual.median_distance) ** 1.5;
  return { components, cut, errors };
}

export interface Direction {
  variance: number;
  /** Of length 1: what each column weighs in it. */
  axis: number[];
}

/** All directions in which the inner rows vary, the one with the largest variance first. */
export function directionsOf(matrix: Matrix): { centre: Float64Array; directions: Direction[]; total: number } {
  const { columns: p } = matrix;
  const { centre, covariance } = covarianceOf(matrix, innerRows(matrix));
  const decomposition = new EigenvalueDecomposition(DenseMatrix.from1DArray(p, p, covariance), {
    assumeSymmetric: true,
  });
  const directions = decomposition.realEigenvalues
    .map((value, index) => ({
      variance: Math.max(0, value),
      axis: decomposition.eigenvectorMatrix.getColumn(index),
    }))
    .sort((a, b) => b.variance - a.variance);
  return { centre, directions, total: directions.reduce((sum, each) => sum + each.variance, 0) };
}

function innerRows({ rows, columns, values }: Matrix): Uint32Array {
  const norms = new Float64Array(rows);
  for (let i = 0; i < values.length; i++) norms[Math.floor(i / columns)]! += values[i]! ** 2;
  const [cut] = quantiles(norms.slice(), rows, [INNER]);
  return Uint32Array.from({ length: rows }, (_, r) => r).filter((r) => norms[r]! <= cut!);
}

function errorOf({ columns, values }: Matrix, row: number, centre: Float64Array, axes: readonly number[][]): number {
  const at = row * columns;
  let squares = 0;
  for (let c = 0; c < columns; c++) squares += (values[at + c]! - centre[c]!) ** 2;
  for (const axis of axes) {
    let along = 0;
    for (let c = 0; c < columns; c++) along += (values[at + c]! - centre[c]!) * axis[c]!;
    squares -= along * along;
  }
  return Math.sqrt(Math.max(0, squares));
}
