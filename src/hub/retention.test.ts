import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tooOld } from './retention.ts';
import type { Kept } from './sweep.ts';

const HOUR = 3_600_000;
const NOW = 100 * HOUR;
const kept = (name: string, hours: number, bytes: number): Kept => ({
  place: { way: ['user=ada', name], owner: undefined },
  kind: 'job',
  user: 'ada',
  bytes,
  changed: NOW - hours * HOUR,
  unsealed: false,
});
const ALL = [kept('a', 50, 10), kept('b', 90, 20), kept('c', 1, 40), kept('d', 70, 80)];
const names = (...args: Parameters<typeof tooOld>): string[] => tooOld(...args).map((old) => old.kept.place.way[1]!);
const none = (): boolean => false;

test('by age, the oldest first', () => {
  assert.deepEqual(names(ALL, { age: 60 * 3600 }, NOW, none), ['b', 'd']);
  assert.deepEqual(names(ALL, {}, NOW, none), []);
});

test('by size, those that ended first until the rest fits', () => {
  assert.deepEqual(names(ALL, { bytes: 150 }, NOW, none), []);
  assert.deepEqual(names(ALL, { bytes: 140 }, NOW, none), ['b']);
  assert.deepEqual(names(ALL, { bytes: 129 }, NOW, none), ['b', 'd']);
  assert.deepEqual(names(ALL, { bytes: 1 }, NOW, none), ['b', 'd', 'a', 'c']);
});

test('what is live stays, whatever is full', () => {
  const live = (each: Kept): boolean => each.place.way[1] === 'b';
  assert.deepEqual(names(ALL, { age: 1, bytes: 1 }, NOW, live), ['d', 'a', 'c']);
});
