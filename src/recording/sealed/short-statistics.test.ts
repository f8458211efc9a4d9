import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { restored, shortened } from './short-statistics.ts';
import type { SeriesStatistics } from './statistics.ts';

const figure = fc.constantFrom(0, 1, 7, 0.1, 1e300, Number.NaN);
const rate = fc.record({
  ...{ min: figure, max: figure, max_time: figure, mean: figure, p05: figure, p50: figure, p95: figure },
});
const column = fc.record(
  {
    ...{ count: figure, missing: figure, first: figure, last: figure, min: figure, max: figure, max_time: figure },
    ...{ mean: figure, deviation: figure, p05: figure, p25: figure, p50: figure, p75: figure, p95: figure },
    ...{ integral: figure, increase: figure, rate },
  },
  {
    requiredKeys: [
      ...(['count', 'missing', 'first', 'last', 'min', 'max', 'max_time', 'mean', 'deviation'] as const),
      ...(['p05', 'p25', 'p50', 'p75', 'p95'] as const),
    ],
  },
);
const series = fc.record({
  keys: fc.constant({ gpu: '0' }),
  start: figure,
  end: figure,
  samples: figure,
  texts: fc.constant({}),
  columns: fc.dictionary(fc.constantFrom('a', 'b', 'c'), column),
});

test('nothing is lost on the way through a file', () => {
  fc.assert(
    fc.property(series, (full) => {
      const whole = JSON.stringify(full);
      const text = JSON.stringify(shortened(full as SeriesStatistics));
      assert.equal(JSON.stringify(full), whole, 'what is in memory stays as it is');
      assert.deepEqual(restored(JSON.parse(text)), JSON.parse(whole));
    }),
  );
});

test('a column that never changes is its value, and one of an older file is as it is', () => {
  const still = { count: 3, missing: 0, first: 5, last: 5, min: 5, max: 5, max_time: 10, mean: 5, deviation: 0 };
  const full = { ...still, p05: 5, p25: 5, p50: 5, p75: 5, p95: 5, integral: 10 };
  const one = { keys: {}, start: 10, end: 12, samples: 3, texts: {}, columns: { size: full } };
  assert.deepEqual(shortened(one).columns, { size: { min: 5, integral: 10 } });
  assert.deepEqual(restored(structuredClone(one)), one);
});
