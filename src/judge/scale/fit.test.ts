import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { random } from '../../base/random.ts';
import { fitLaw, type RatePoint } from './fit.ts';
import { amdahl, gustafson, type Law, usl } from './laws.ts';
import { studentWidth } from './student.ts';

const SIZES = [1, 2, 4, 8, 16, 32, 64];

/** Runs of a law, each off by chance: a normal error of so much of its rate. */
function runs(law: Law, parameters: number[], { noise = 0, repeat = 1, rate = 3, seed = 1 } = {}): RatePoint[] {
  const next = random(seed);
  const normal = (): number => Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next());
  return SIZES.flatMap((size) =>
    Array.from({ length: repeat }, () => ({
      size,
      rate: rate * law.speedup(size, parameters) * Math.exp(noise * normal()),
    })),
  );
}

test("Student's t, as tables have it", () => {
  const table = [
    [1, 12.706],
    [2, 4.303],
    [3, 3.182],
    [5, 2.571],
    [10, 2.228],
    [30, 2.042],
    [1e6, 1.962],
  ];
  for (const [freedom, width] of table) assert.equal(studentWidth(0.95, freedom!).toFixed(3), width!.toFixed(3));
});

test('without chance, every law gives back what it was made of', () => {
  const share = fc.double({ min: 0, max: 0.6, noNaN: true });
  const pair = fc.double({ min: 0, max: 0.01, noNaN: true });
  const rate = fc.double({ min: 1e-5, max: 1e5, noNaN: true });
  fc.assert(
    fc.property(share, pair, rate, (s, b, one) => {
      for (const [law, parameters] of [
        [amdahl, [s]],
        [gustafson, [s]],
        [usl, [s, b]],
      ] as const) {
        const fit = fitLaw(law, runs(law, [...parameters], { rate: one }))!;
        parameters.forEach((truth, i) => {
          assert.ok(
            Math.abs(fit.estimates[i]!.value - truth) < 1e-6,
            `${law.name} ${truth} ${fit.estimates[i]!.value}`,
          );
        });
        assert.ok(Math.abs(fit.rate_of_one / one - 1) < 1e-6);
      }
    }),
    { numRuns: 200 },
  );
});

test('the stated interval holds the truth as often as it says, over many studies', () => {
  const next = random(7);
  const studies = 600;
  const hits = { serial: 0, contention: 0, coherency: 0, speedup: 0 };
  for (let seed = 1; seed <= studies; seed++) {
    const [s, b] = [0.3 * next(), 0.003 * next()];
    const noise = 0.005 + 0.05 * next();
    const repeat = 1 + Math.floor(3 * next());
    const holds = ({ low, high }: { low?: number; high?: number }, truth: number): number =>
      low! <= truth && truth <= high! ? 1 : 0;
    const made = fitLaw(usl, runs(usl, [s, b], { noise, repeat, seed }))!;
    hits.contention += holds(made.estimates[0]!, s);
    hits.coherency += holds(made.estimates[1]!, b);
    hits.speedup += holds(made.speedup(128, 1), usl.speedup(128, [s, b]));
    hits.serial += holds(fitLaw(amdahl, runs(amdahl, [s], { noise, repeat, seed }))!.estimates[0]!, s);
  }
  for (const [what, number] of Object.entries(hits)) {
    const share = number / studies;
    // 95 % is stated; chance gives ± 2.7 % at three standard errors
    assert.ok(share > 0.92 && share < 0.985, `${what}: ${(share * 100).toFixed(1)} %`);
  }
});

test('too few sizes for a law, and as many runs as unknowns: no interval', () => {
  const two = [
    { size: 1, rate: 1 },
    { size: 2, rate: 1.6 },
  ];
  assert.equal(fitLaw(usl, two), undefined);
  const fit = fitLaw(amdahl, two)!;
  assert.equal(fit.estimates[0]!.value.toFixed(6), '0.250000');
  assert.equal(fit.estimates[0]!.low, undefined);
  assert.equal(fit.speedup(4, 1).low, undefined);
  assert.equal(fitLaw(amdahl, [two[0]!, two[0]!]), undefined);
});

test('what scales beyond its size is held to 0, and said', () => {
  const points = SIZES.flatMap((size) => [0.99, 1.01].map((chance) => ({ size, rate: size ** 1.2 * chance })));
  const fit = fitLaw(amdahl, points)!;
  assert.equal(fit.estimates[0]!.value, 0);
  assert.equal(fit.superlinear, true);
});
