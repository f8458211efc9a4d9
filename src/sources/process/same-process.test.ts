import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { type ImageRecord, isNextImage, isSameProcess, joinObservations, type Observation } from './same-process.ts';

const S = 1e6;
const observed = (birth: number, last: number, start = birth, pid = 7): Observation => ({
  pid,
  birth: birth * S,
  start: start * S,
  last: last * S,
});

test('the same process: its birth is the same, or the older one lived when the other was observed first', () => {
  assert.equal(isSameProcess(observed(10, 20), observed(11, 12)), true, 'the clocks differ');
  assert.equal(isSameProcess(observed(10, 20), observed(10, 20, 10, 8)), false, 'another pid');
  assert.equal(isSameProcess(observed(0, 30), observed(20, 40, 25)), true, 'it became a program that recorded itself');
  assert.equal(isSameProcess(observed(0, 10), observed(20, 40)), false, 'the pid was used again');
});

test('a sample is joined with the closest birth, and a recorded process with one sample', () => {
  const recorded = [observed(0, 30), observed(21, 22), observed(90, 91), observed(21, 22, 21, 8)];
  const [sample, next, other] = [observed(20, 40), observed(20, 40), observed(200, 210)];
  const same = joinObservations(recorded, [sample, next, other]);
  assert.equal(same.get(sample), recorded[1]);
  assert.equal(same.get(next), recorded[0], 'the closest one is taken');
  assert.equal(same.get(other), undefined);
});

const observation = fc
  .tuple(fc.integer({ min: 1, max: 3 }), fc.nat(60), fc.nat(20), fc.nat(20))
  .map(([pid, birth, late, long]) => observed(birth, birth + late + long, birth + late, pid));

test('who is asked first makes no difference, and each is the same as itself', () => {
  fc.assert(
    fc.property(observation, observation, (a, b) => {
      assert.equal(isSameProcess(a, b), isSameProcess(b, a));
      assert.equal(isSameProcess(a, a), true);
    }),
  );
});

const image = (start: number, more: Partial<ImageRecord> = {}): ImageRecord => ({
  ...{ start: start * S, ticks: Number.NaN, birth: Number.NaN, end: Number.NaN },
  ...{ isExec: false, isReported: false, ppid: 1, ...more },
});
const born = (seconds: number) => ({ ticks: seconds * 100, birth: seconds * S });

test('the next image of a process: by the birth that the kernel has, else by exec or the same parent just before', () => {
  assert.equal(isNextImage(image(1, born(1)), image(500, born(1))), true, 'however long ago');
  assert.equal(isNextImage(image(1, born(1)), image(2, born(2))), false, 'the pid was used again');
  assert.equal(isNextImage(image(3), image(500, born(3))), true, 'the kernel started it before the other one began');
  assert.equal(isNextImage(image(3), image(5, born(4))), false);
  const ended = { end: 4 * S };
  assert.equal(isNextImage(image(1, { ...ended, isExec: true }), image(5)), true);
  assert.equal(isNextImage(image(1, { ...ended, isExec: true }), image(15)), false, 'loading takes no 11 s');
  assert.equal(isNextImage(image(1, ended), image(5)), false, 'it had ended');
  assert.equal(isNextImage(image(1), image(5)), true, 'no end, and the same parent');
  assert.equal(isNextImage(image(1), image(5, { ppid: 2 })), false);
  assert.equal(
    isNextImage(image(1, { isReported: true }), image(5, { ppid: 2 })),
    true,
    'its parent need not say whose',
  );
});
