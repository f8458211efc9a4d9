import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { HAWKINS_BRADU_KASS } from '../../../test/made/hawkins-bradu-kass.ts';
import { isolationForest, usualDepth } from './isolation-forest.ts';
import { matrixOf } from './matrix.ts';

const scoresOf = (rows: readonly (readonly number[])[]): Float64Array => {
  const matrix = matrixOf(rows);
  return isolationForest(matrix)(matrix);
};

test('the usual depth is what the paper gives for its sample of 256', () => {
  assert.equal(usualDepth(256).toFixed(2), '10.24');
  assert.deepEqual([usualDepth(0), usualDepth(1), usualDepth(2)], [0, 0, 1]);
});

test('rows that are all alike score one half', () => {
  for (const score of scoresOf(new Array<number[]>(20).fill([1, 2, 3])))
    assert.equal(score.toFixed(12), '0.500000000000');
});

test('scores lie between 0 and 1, and are the same again and in another order', () => {
  const row = fc.tuple(fc.integer({ min: -50, max: 50 }), fc.integer({ min: -50, max: 50 }));
  fc.assert(
    fc.property(fc.array(row, { minLength: 2, maxLength: 40 }), (rows) => {
      const scores = scoresOf(rows);
      assert.ok(scores.every((score) => score > 0 && score < 1));
      assert.deepEqual(scoresOf(rows), scores);
      assert.deepEqual(scoresOf(rows.toReversed()).reverse(), scores);
    }),
    { numRuns: 25 },
  );
});

test('one that is further out does not score less', () => {
  const crowd = Array.from({ length: 50 }, (_, i) => [i % 7, i % 11]);
  const matrix = matrixOf(crowd);
  const score = isolationForest(matrix);
  const line = matrixOf([5, 8, 12, 20, 100, 1000].map((x) => [x, 5]));
  const scores = score(line);
  for (let i = 1; i < scores.length; i++) assert.ok(scores[i]! >= scores[i - 1]!, String(scores));
  assert.ok(scores[5]! > scores[0]!);
});

test('one alone among many stands out more than any of them', () => {
  const rows = [...Array.from({ length: 40 }, (_, i) => [10 + (i % 6), 20 + (i % 5), (i * 7) % 9]), [90, 90, 90]];
  const scores = scoresOf(rows);
  assert.ok(scores[40]! > 0.7, String(scores[40]));
  assert.ok(scores.subarray(0, 40).every((each) => each < scores[40]!));
});

test('the 14 outliers of Hawkins, Bradu and Kass score highest', () => {
  const scores = scoresOf(HAWKINS_BRADU_KASS);
  const worst = Array.from(scores, (score, row) => ({ score, row })).sort((a, b) => b.score - a.score);
  assert.ok(worst.slice(0, 14).every(({ row }) => row < 14));
});
