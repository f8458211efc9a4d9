import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type Curve, even, sumOf, through } from './curve.ts';

/** One after the other, as a sum of few curves is made. */
function plainSum(curves: readonly Curve[]): (time: number) => { at: number; bounds: number[] } {
  return (time) => ({
    at: curves.reduce((sum, curve) => sum + curve.at(time), 0),
    bounds: [0, 1].map((i) => curves.reduce((sum, curve) => sum + curve.bounds(time)[i]!, 0)),
  });
}

/** Processes: most of them short, some as long as the job, some that last no time; a few have gaps. */
const curveOf = fc
  .tuple(fc.nat(100_000), fc.constantFrom(0, 1, 30, 2000, 100_000), fc.nat(1000), fc.boolean())
  .map(([from, length, amount, hasGap]) =>
    hasGap && length > 3
      ? through([from, from + 1, from + length], [5, 5 + amount, 5 + 2 * amount], length / 2)!
      : even(from, from + length, amount),
  );

test('the sum of many curves is that of each one, never falls, and has their gaps', () => {
  fc.assert(
    fc.property(
      fc.array(curveOf, { minLength: 70, maxLength: 300 }),
      fc.array(fc.integer({ min: -10, max: 210_000 }), { minLength: 60, maxLength: 60 }),
      (curves, moments) => {
        const sum = sumOf(curves)!;
        const few = sumOf(curves.slice(0, 1))!;
        const plain = plainSum(curves);
        let before = Number.NEGATIVE_INFINITY;
        for (const time of [...moments, few.from, few.to, sum.from, sum.to].sort((a, b) => a - b)) {
          const [at, expected] = [sum.at(time), plain(time)];
          assert.ok(
            Math.abs(at - expected.at) <= 1e-9 * (1 + expected.at),
            `${at} instead of ${expected.at} at ${time}`,
          );
          assert.ok(at >= before);
          before = at;
          for (const [i, bound] of sum.bounds(time).entries())
            assert.ok(Math.abs(bound - expected.bounds[i]!) <= 1e-9 * (1 + bound));
          const within = Math.min(Math.max(time, sum.from), sum.to);
          for (const way of ['next', 'previous'] as const)
            assert.equal(
              sum[way](time),
              curves.reduce(
                (moment, one) => (one.from < moment && moment < one.to ? one[way](moment) : moment),
                within,
              ),
            );
        }
      },
    ),
  );
});
