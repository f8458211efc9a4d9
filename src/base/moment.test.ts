import assert from 'node:assert/strict';
import { after, beforeEach, test } from 'node:test';
import fc from 'fast-check';
import { Fault } from './fault.ts';
import { formatMoment, parseMoment } from './moment.ts';

const MOMENT = Date.UTC(2026, 10, 15, 20, 49, 12) * 1000;
const zone = process.env.TZ;
const inZone = (name: string): void => {
  process.env.TZ = name;
};
beforeEach(() => inZone('UTC'));
after(() => {
  if (zone === undefined) delete process.env.TZ;
  else process.env.TZ = zone;
});

test('a moment is shown in local time with its zone', () => {
  assert.equal(formatMoment(MOMENT), '2026-11-15 20:49:12 UTC');
  assert.equal(formatMoment(MOMENT + 999_999), '2026-11-15 20:49:12 UTC');
  inZone('Europe/Berlin');
  assert.equal(formatMoment(MOMENT), '2026-11-15 21:49:12 CET');
  inZone('Europe/London');
  assert.equal(formatMoment(Date.UTC(2026, 6, 1) * 1000), '2026-07-01 01:00:00 BST');
  assert.equal(formatMoment(Number.NaN), 'unknown');
});

test('moments as people write them', () => {
  assert.equal(parseMoment('2026-11-15T20:49:12Z'), MOMENT);
  assert.equal(parseMoment('2026-11-15T20:49:12.000250Z'), MOMENT + 250);
  assert.equal(parseMoment('2026-11-15T22:49:12+02:00'), MOMENT);
  assert.equal(parseMoment('2026-11-15 20:49:12 UTC'), MOMENT);
  assert.equal(parseMoment('2026-11-15 20:49'), MOMENT - 12e6);
  assert.equal(parseMoment('2026-11-15'), Date.UTC(2026, 10, 15) * 1000);
  assert.equal(parseMoment('@1794775752.5'), 1_794_775_752_500_000);
  assert.equal(parseMoment('-10m', MOMENT), MOMENT - 600e6);
  assert.equal(parseMoment('now', MOMENT), MOMENT);
  inZone('Europe/Berlin');
  assert.equal(parseMoment('2026-11-15 21:49:12'), MOMENT);
});

test('what is no time is refused', () => {
  for (const text of ['', 'yesterday', '2026-13-01', '2026-02-30', '2026-11-15 25:00', '20:49', '-', '-5x']) {
    assert.throws(
      () => parseMoment(text),
      (error) => error instanceof Fault && error.exit === 2,
      text,
    );
  }
});

test('what is printed in UTC is read back to the second', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 4_000_000_000 }), (seconds) => {
      assert.equal(parseMoment(formatMoment(seconds * 1e6)), seconds * 1e6);
    }),
  );
});
