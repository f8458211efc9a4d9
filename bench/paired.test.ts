import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pairedExtra } from './paired.ts';

test('a steady extra is found, whatever drifts and whatever bursts', () => {
  const without: number[] = [];
  const withIt: number[] = [];
  // every measurement is 1 % slower than the one before
  for (let four = 0; four < 5; four++) {
    const at = (place: number): number => 100 + four * 4 + place;
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
