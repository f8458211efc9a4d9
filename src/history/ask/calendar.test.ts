import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Calendar } from './calendar.ts';

const at = (text: string): number => Date.parse(text) * 1000;

test('clocks that change: an hour is skipped in spring and comes twice in autumn', () => {
  const oslo = new Calendar('Europe/Oslo');
  assert.deepEqual(oslo.local(at('2026-03-29T00:30:00Z')), {
    day: '2026-03-29',
    month: '2026-03',
    weekday: 6,
    hour: 1,
  });
  assert.equal(oslo.local(at('2026-03-29T01:30:00Z')).hour, 3);
  assert.equal(oslo.local(at('2026-10-25T00:30:00Z')).hour, 2);
  assert.equal(oslo.local(at('2026-10-25T01:30:00Z')).hour, 2);
  assert.equal(oslo.local(at('2026-10-25T02:30:00Z')).hour, 3);
});

test('days begin at local midnight, also on the day on which clocks change', () => {
  const oslo = new Calendar('Europe/Oslo');
  const dayOf = (text: string, before = 0): string => oslo.local(at(text) - before).day;
  assert.deepEqual([dayOf('2026-03-28T23:00:00Z', 1), dayOf('2026-03-28T23:00:00Z')], ['2026-03-28', '2026-03-29']);
  assert.deepEqual([dayOf('2026-10-24T22:00:00Z', 1), dayOf('2026-10-24T22:00:00Z')], ['2026-10-24', '2026-10-25']);
  assert.equal(new Calendar('America/New_York').local(at('2026-01-01T03:00:00Z')).day, '2025-12-31');
});

test('slots are as long as whole local hours allow', () => {
  const year = [at('2026-01-01T00:00:00Z'), at('2027-01-01T00:00:00Z')] as const;
  assert.equal(new Calendar('Europe/Oslo').slot(...year), 3600e6);
  assert.equal(new Calendar('Asia/Kolkata').slot(...year), 1800e6);
  assert.equal(new Calendar('Asia/Kathmandu').slot(...year), 900e6);
  assert.equal(new Calendar('Asia/Kolkata').local(at('2026-01-01T18:30:00Z')).day, '2026-01-02');
});

test('a zone that does not exist is named', () => {
  assert.throws(() => new Calendar('Europe/Olso'), /there is no time zone "Europe\/Olso"/);
});
