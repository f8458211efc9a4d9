import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { spreadOf } from './spread.ts';
import { interquartileRange, modifiedZScore, univariateMethods, zScore } from './univariate.ts';

/** The methods that vote for a value among its peers. */
function votes(values: readonly number[], index: number): string[] {
  const spread = spreadOf(values)!;
  return univariateMethods
    .filter((method) => method.unable(spread) === undefined && method.score(values[index]!, spread) > method.threshold)
    .map((method) => method.name);
}

const near = (actual: number, expected: number, tolerance = 1e-9): void =>
  assert.ok(
    actual === expected || Math.abs(actual - expected) <= tolerance * Math.max(1, Math.abs(expected)),
    `${actual} is not ${expected}`,
  );

// biome-ignore format: data
const STOPPING = [
  2, 10, 4, 22, 16, 10, 18, 26, 34, 17, 28, 14, 20, 24, 28, 26, 34, 34, 46, 26, 36, 60, 80, 20, 26, 54, 32, 40, 32, 40, 50,
  42, 56, 76, 84, 36, 46, 68, 32, 48, 52, 56, 64, 66, 54, 70, 92, 93, 120, 85,
];

test('median, distances and quartiles of a row whose figures are published', () => {
  // the usual example of the median absolute deviation
  const spread = spreadOf([1, 1, 2, 2, 4, 6, 9])!;
  assert.equal(spread.median, 2);
  assert.equal(spread.median_distance, 1);
  // stopping distances of cars (Ezekiel 1930), whose summary every copy of R prints: 26, 36, 42.98, 56; mad 23.7216
  const cars = spreadOf(STOPPING)!;
  assert.deepEqual([cars.q1, cars.median, cars.mean, cars.q3], [26, 36, 42.98, 56]);
  near(1.4826 * cars.median_distance, 23.7216);
  assert.deepEqual(
    STOPPING.filter((value) => interquartileRange.score(value, cars) > 1.5),
    [120],
  );
  assert.equal(spreadOf([2, 4, 4, 4, 5, 5, 7, 9])!.deviation, 2);
});

test('missing values are not there, and nothing known is no spread', () => {
  assert.equal(spreadOf([3, Number.NaN, undefined, 5])!.count, 2);
  assert.equal(spreadOf([Number.NaN, undefined]), undefined);
});

test('z-scores of 1 to 10 and 1000', () => {
  const values = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 1000];
  const spread = spreadOf(values)!;
  near(spread.mean, 95.9091, 1e-6);
  near(spread.deviation, 285.9118, 1e-6);
  near(zScore.score(1000, spread), 3.1621, 1e-4);
  near(zScore.score(1, spread), 0.332, 1e-4);
});

test("Iglewicz and Hoaglin's example: two of ten have a modified z-score above 3.5", () => {
  const values = [2.1, 2.6, 2.4, 2.5, 2.3, 2.1, 2.3, 2.6, 8.2, 8.3];
  const spread = spreadOf(values)!;
  near(spread.median, 2.45);
  near(spread.median_distance, 0.15);
  const scores = values.map((value) => modifiedZScore.score(value, spread));
  near(scores[8]!, (0.6745 * 5.75) / 0.15);
  assert.deepEqual(
    scores.map((score) => score > 3.5),
    [false, false, false, false, false, false, false, false, true, true],
  );
});

test('the fences of 1, 1, 2, 3, 4, 1, 100', () => {
  const values = [1, 1, 2, 3, 4, 1, 100];
  const spread = spreadOf(values)!;
  assert.deepEqual(
    values.map((value) => interquartileRange.score(value, spread) > interquartileRange.threshold),
    [false, false, false, false, false, false, true],
  );
});

test('where more than half are alike the mean distance stands in', () => {
  const spread = spreadOf([5, 5, 5, 5, 5, 5, 5, 5, 6, 15])!;
  assert.equal(spread.median_distance, 0);
  near(modifiedZScore.score(15, spread), (0.6745 * 10) / 1.1);
  near(modifiedZScore.score(6, spread), 0.6745 / 1.1);
});

test('ten values cannot have a z-score above three, so the method does not vote', () => {
  const values = [0, 0, 0, 0, 0, 0, 0, 0, 0, 1e9];
  assert.ok(zScore.score(1e9, spreadOf(values)!) <= 3);
  assert.ok(zScore.unable(spreadOf(values)!) !== undefined);
  assert.ok(zScore.score(1e9, spreadOf([...values, 0])!) > 3);
});

const measured = fc.integer({ min: -1e9, max: 1e9 }).map((value) => value / 1000);
const series = fc.array(measured, { minLength: 4, maxLength: 60 });

test('order does not matter', () => {
  fc.assert(
    fc.property(series, fc.nat(), (values, at) => {
      const turned = [...values.slice(at % values.length), ...values.slice(0, at % values.length)];
      const index = at % values.length;
      // sums in another order differ in the last digit
      const [a, b] = [spreadOf(values)!, spreadOf(turned)!];
      for (const method of univariateMethods) {
        near(method.score(values[index]!, a), method.score(turned[0]!, b), 1e-6);
      }
    }),
  );
});

test('another unit and another origin change no vote', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: -1e6, max: 1e6 }), { minLength: 4, maxLength: 60 }),
      fc.constantFrom(0.125, 2, 1024),
      fc.integer({ min: -1000, max: 1000 }),
      (values, factor, shift) => {
        const other = values.map((value) => (value + shift) * factor);
        values.forEach((_, index) => {
          assert.deepEqual(votes(other, index), votes(values, index));
        });
      },
    ),
  );
});

test('all alike: nobody is voted for', () => {
  fc.assert(
    fc.property(measured, fc.integer({ min: 1, max: 50 }), (value, number) => {
      assert.deepEqual(votes(new Array<number>(number).fill(value), 0), []);
    }),
  );
});

test('one that is far enough away gets the vote of every method that can vote', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 0, max: 1000 }), { minLength: 3, maxLength: 60 }),
      fc.constantFrom(-1, 1),
      (peers, side) => {
        const values = [...peers, side * 1e9];
        const spread = spreadOf(values)!;
        const able = univariateMethods
          .filter((method) => method.unable(spread) === undefined)
          .map((method) => method.name);
        assert.ok(able.length > 0);
        assert.deepEqual(votes(values, values.length - 1), able);
      },
    ),
  );
});
