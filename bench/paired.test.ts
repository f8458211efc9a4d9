import assert from 'node:assert/strict';
import { test } from 'node:test';
import { medianInterval, pairedExtra } from './paired.ts';

test('a steady extra is found, whatever drifts and whatever bursts', () => {
  const without: number[] = [];
  const withIt: number[] = [];
  // every measurement is 1 % slower than the one before
  for (let four = 0; four < 5; four++) {
    const at = (index: number): number => 100 + four * 4 + index;
    without.push(at(0), at(3));
    withIt.push(at(1) * 1.02, at(2) * 1.02);
  }
  const close = (measured: number): void => assert.ok(Math.abs(measured - 2) < 1e-9, String(measured));
  close(pairedExtra(without, withIt).median);
  withIt[3]! *= 3;
  without[8]! *= 3;
  const { median, quartiles } = pairedExtra(without, withIt);
  for (const measured of [median, ...quartiles]) close(measured);
});

test('the interval of a median holds it, and is narrow where values are close', () => {
  const values = Array.from({ length: 41 }, (_, i) => 5 + ((i * 17) % 41) / 100);
  const [low, high] = medianInterval(values);
  assert.ok(low < 5.2 && 5.2 < high, `${low} to ${high}`);
  assert.ok(high - low < 0.25, `${low} to ${high}`);
  // one in ten far away does not move it
  assert.deepEqual(
    medianInterval([...values, 90, 91, 92, 93].map((value) => value + 1)).map((end) => end < 7),
    [true, true],
  );
  assert.deepEqual(medianInterval([3, 3, 3]), [3, 3]);
});
