import assert from 'node:assert/strict';
import { test } from 'node:test';
import { random } from './random.ts';

test('the same seed gives the same numbers, another seed others', () => {
  const take = (seed: number): number[] => {
    const next = random(seed);
    return Array.from({ length: 4 }, next);
  };
  assert.deepEqual(take(7), take(7));
  assert.notDeepEqual(take(7), take(8));
});

test('numbers are spread evenly between 0 and 1', () => {
  const next = random(1);
  const tenths = new Array<number>(10).fill(0);
  for (let i = 0; i < 10_000; i++) tenths[Math.floor(next() * 10)]!++;
  for (const count of tenths) assert.ok(count > 850 && count < 1150, String(tenths));
});
