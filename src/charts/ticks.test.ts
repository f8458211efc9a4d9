import assert from 'node:assert/strict';
import { test } from 'node:test';
import { timeTicks, valueTicks } from './ticks.ts';

test('times are round since the start of the job, wherever the chart begins', () => {
  const start = 1_772_438_407e6;
  const since = (from: number, to: number): number[] =>
    timeTicks(start + from * 1e6, start + to * 1e6, start).map((time) => (time - start) / 1e6);
  assert.deepEqual(since(0, 3600), [0, 600, 1200, 1800, 2400, 3000, 3600]);
  assert.deepEqual(since(1201, 1261), [1210, 1220, 1230, 1240, 1250, 1260]);
  assert.deepEqual(since(0, 1), [0, 0.2, 0.4, 0.6, 0.8, 1]);
});

test('values end at a round number, bytes at one of their own', () => {
  const GiB = 2 ** 30;
  assert.deepEqual(valueTicks(960 * GiB, 'bytes'), { max: 1000 * GiB, interval: 500 * GiB });
  assert.deepEqual(valueTicks(43.6, 'CPUs'), { max: 60, interval: 20 });
  assert.deepEqual(valueTicks(100, '%'), { max: 100, interval: 50 });
  assert.deepEqual(valueTicks(0, 'W'), { max: 1, interval: 1 });
  assert.deepEqual(valueTicks(7, 'W'), { max: 7.5, interval: 2.5 });
  // there is no half of a thread
  assert.deepEqual(valueTicks(7, 'threads'), { max: 10, interval: 5 });
  assert.deepEqual(valueTicks(1, 'threads'), { max: 1, interval: 1 });
});
