import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nextTick, wallClock } from './clock.ts';

test('ticks lie on whole multiples of the interval', () => {
  assert.equal(nextTick(1_000_000_300_000, 1_000_000), 1_000_001_000_000);
  assert.equal(nextTick(1_000_001_000_000, 1_000_000), 1_000_002_000_000);
  assert.equal(nextTick(1_000_001_050_000, 100_000), 1_000_001_100_000);
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

test('a clock that is set forward or back is followed and remembered', () => {
  let steady = 0;
  let wall = 1_700_000_000_000;
  const clock = wallClock(
    () => wall,
    () => steady,
  );
  clock.now();
  steady += 1000;
  wall += 3_601_000;
  assert.equal(clock.now(), 1_700_003_601_000_000);
  steady += 1000;
  wall += 1000 - 7_200_000;
  assert.equal(clock.now(), 1_699_996_402_000_000);
  assert.deepEqual(
    clock.jumps.map((j) => j.seconds),
    [3600, -7200],
  );
});
