import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { chiSquareQuantile, chiSquareShare } from './chi-square.ts';

test('critical values as every table of the chi-square distribution has them', () => {
  // share, degrees of freedom, value (NIST/SEMATECH e-Handbook, 1.3.6.7.4)
  const table: [number, number, number][] = [
    [0.9, 1, 2.706],
    [0.95, 1, 3.841],
    [0.975, 2, 7.378],
    [0.99, 3, 11.345],
    [0.975, 3, 9.348],
    [0.999, 4, 18.467],
    [0.95, 10, 18.307],
    [0.999, 10, 29.588],
    [0.975, 30, 46.979],
    [0.99, 100, 135.807],
    [0.05, 10, 3.94],
    [0.025, 100, 74.222],
  ];
  for (const [share, freedom, value] of table) {
    assert.equal(Number(chiSquareQuantile(share, freedom).toFixed(3)), value, `${share} of ${freedom}`);
  }
});

test('with two degrees of freedom it is the exponential distribution', () => {
  for (const x of [0.01, 0.5, 1, 2, 7, 30]) {
    assert.ok(Math.abs(chiSquareShare(x, 2) - (1 - Math.exp(-x / 2))) < 1e-14);
  }
});

test('the quantile is the inverse of the share', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 999 }), fc.integer({ min: 1, max: 200 }), (thousandths, freedom) => {
      const share = thousandths / 1000;
      assert.ok(Math.abs(chiSquareShare(chiSquareQuantile(share, freedom), freedom) - share) < 1e-10);
    }),
  );
});
