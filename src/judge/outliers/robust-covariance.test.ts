import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HAWKINS_BRADU_KASS } from '../../../test/made/hawkins-bradu-kass.ts';
import { random } from '../../base/random.ts';
import { chiSquareQuantile } from './chi-square.ts';
import { cloudOf, covarianceOf, squaredDistances } from './mahalanobis.ts';
import { matrixOf } from './matrix.ts';
import { robustCovariance } from './robust-covariance.ts';

const close = (actual: ArrayLike<number>, expected: readonly number[], digits: number): void =>
  assert.deepEqual(
    Array.from(actual, (value) => value.toFixed(digits)),
    expected.map((value) => value.toFixed(digits)),
  );

test('Mahalanobis distances as R computes them', () => {
  const x1 = [3.853, 2.401, 2.253, 3.067, 1.887, 3.293, 3.995, 2.559, 2.785, 2.228];
  const x2 = [4.294, 1.915, 1.315, 4.641, 1.611, 2.838, 3.696, 1.337, 2.853, 2.434];
  const x3 = [4.785, 2.352, 2.023, 4.978, 2.329, 3.101, 4.494, 2.204, 3.468, 3.075];
  const matrix = matrixOf(x1.map((value, i) => [value, x2[i]!, x3[i]!]));
  const { centre, covariance } = covarianceOf(
    matrix,
    x1.map((_, i) => i),
  );
  close(
    covariance,
    [0.5020374, 0.6667232, 0.633355, 0.6667232, 1.4434718, 1.3260262, 0.633355, 1.3260262, 1.248315],
    6,
  );
  close(
    squaredDistances(cloudOf(centre, covariance)!, matrix),
    [2.1838336, 1.9673401, 1.3335029, 4.9191627, 2.1246818, 5.3297995, 4.9022487, 2.5335913, 0.1952562, 1.5105832],
    5,
  );
});

const three = matrixOf(HAWKINS_BRADU_KASS.map((row) => row.slice(0, 3)));

test("the raw estimate of Hawkins, Bradu and Kass's x is the published one", () => {
  const { raw, subset } = robustCovariance(three)!;
  assert.equal(subset, 39);
  close(raw.centre, [1.5333333, 2.4564103, 1.6076923], 7);
  assert.equal(raw.consistency.toFixed(8), '2.36792847');
  assert.equal(raw.correction.toFixed(8), '1.12792119');
  // biome-ignore format: a matrix
  close(raw.covariance, [
    3.17735853174, 0.012417047794, 0.58055555535,
    0.012417047794, 1.00478967011, 0.486589681332,
    0.58055555535, 0.486589681332, 2.43240775146,
  ], 8);
});

test('the weighted estimate of all four columns is what rrcov prints', () => {
  const { centre, covariance } = robustCovariance(matrixOf(HAWKINS_BRADU_KASS))!;
  close(centre, [1.50345, 1.85345, 1.68276, -0.06552], 5);
  // biome-ignore format: a matrix
  close(covariance, [
    1.56742, 0.15447, 0.28699, 0.1656,
    0.15447, 1.60912, 0.2213, -0.01917,
    0.28699, 0.2213, 1.55468, -0.21853,
    0.1656, -0.01917, -0.21853, 0.45091,
  ], 5);
});

test('its first 14 rows are outliers, and no other', () => {
  const distances = squaredDistances(robustCovariance(three)!.cloud, three);
  const far = Array.from(distances, (d) => d > chiSquareQuantile(0.975, 3));
  assert.deepEqual(
    far,
    far.map((_, row) => row < 14),
  );
});

test('the order of the rows does not matter', () => {
  const turned = robustCovariance(matrixOf(HAWKINS_BRADU_KASS.toReversed()))!;
  assert.deepEqual(turned, robustCovariance(matrixOf(HAWKINS_BRADU_KASS)));
});

test('among thousands of rows a fifth that lies elsewhere does not move the middle', () => {
  const next = random(3);
  const around = (middle: number): number => middle + next() + next() + next() + next() - 2;
  const rows = Array.from({ length: 3000 }, (_, i) =>
    i % 5 === 0 ? [around(40), around(-9)] : [around(3), around(5)],
  );
  const { centre } = robustCovariance(matrixOf(rows))!;
  assert.ok(Math.abs(centre[0]! - 3) < 0.1 && Math.abs(centre[1]! - 5) < 0.1, String(centre));
});

test('rows on a line have no covariance', () => {
  assert.equal(robustCovariance(matrixOf(Array.from({ length: 30 }, (_, i) => [i, 2 * i]))), undefined);
});
