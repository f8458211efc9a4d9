import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nextTick, wallClock } from './clock.ts';

test('ticks lie on whole multiples of the interval', () => {
  assert.equal(nextTick(1_000_000_300_000, 1_000_000), 1_000_001_000_000);
  assert.equal(nextTick(1_000_001_000_000, 1_000_000), 1_000_002_000_000);
  assert.equal(nextTick(1_000_001_050_000, 100_000), 1_000_001_100_000);
  assert.equal(nextTick(1_000_000_300_000, 1_000_000, 200_000), 1_000_001_200_000);
  assert.equal(nextTick(1_000_000_100_000, 1_000_000, 200_000), 1_000_000_200_000);
});

test('time goes on in microseconds between the milliseconds of the wall clock', () => {
  let steady = 10;
  const clock = wallClock(
    () => Math.floor(1_700_000_000_000 + steady - 10),
    () => steady,
  );
  assert.equal(clock.now(), 1_700_000_000_000_000);
  steady += 0.25;
  assert.equal(clock.now(), 1_700_000_000_000_250);
  assert.deepEqual(clock.jumps, []);
});

test('a clock that is set forward or back is remembered, and time goes on as if it had not been', () => {
  let steady = 0;
  let wall = 1_700_000_000_000;
  const clock = wallClock(
    () => wall,
    () => steady,
  );
  const pass = (milliseconds: number, set = 0): number => {
    steady += milliseconds;
    wall += milliseconds + set;
    return clock.now();
  };
  assert.equal(pass(1000, 3_600_000), 1_700_000_001_000_000);
  assert.equal(pass(1000), 1_700_000_002_000_000);
  assert.equal(pass(1000, -7_200_000), 1_700_000_003_000_000);
  // a little drift is followed
  assert.equal(pass(1000, 20), 1_700_000_004_020_000);
  assert.deepEqual(
    clock.jumps.map((j) => [j.time, j.seconds]),
    [
      [1_700_000_001_000_000, 3600],
      [1_700_000_003_000_000, -7200],
    ],
  );
  assert.equal(clock.ahead(), -3_600_000_000);
  clock.settle();
  assert.equal(clock.now(), wall * 1000);
  assert.equal(clock.ahead(), 0);
});
