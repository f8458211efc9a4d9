import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { putFloat, putIso, putNumber, putPadded, putTime, WIDEST } from './number-text.ts';

const bytes = Buffer.alloc(64);
const number = (value: number, decimals = 3): string =>
  bytes.toString('latin1', 0, putNumber(bytes, 0, value, decimals));
const float = (value: number, decimals = 3): string => bytes.toString('latin1', 0, putFloat(bytes, 0, value, decimals));

test('whole numbers of every length', () => {
  for (let length = 1; length <= 15; length++) {
    for (const value of [10 ** (length - 1), 10 ** length - 1, 10 ** length]) {
      assert.equal(number(value), String(value));
      assert.equal(number(-value), String(-value));
    }
  }
  assert.equal(number(0), '0');
  assert.equal(number(-0), '0');
  assert.equal(number(2 ** 31 - 1), '2147483647');
  assert.equal(number(2 ** 31), '2147483648');
  assert.equal(number(Number.MAX_SAFE_INTEGER), '9007199254740991');
  assert.equal(number(8_999_999_999_999_999), '8999999999999999');
});

test('decimals without the zeros at their end', () => {
  assert.equal(number(0.5), '0.5');
  assert.equal(number(12.25), '12.25');
  assert.equal(number(0.007), '0.007');
  assert.equal(number(-3.1), '-3.1');
  assert.equal(number(99.9999, 4), '99.9999');
  assert.equal(number(0.000000000012, 12), '0.000000000012');
});

test('more digits than the column promises are kept, not rounded', () => {
  assert.equal(number(0.1234), '0.1234');
  assert.equal(number(1 / 3, 2), String(1 / 3));
  assert.equal(number(1e300), '1e+300');
});

test('missing is empty', () => {
  assert.equal(number(Number.NaN), '');
  assert.equal(float(Number.NaN), '');
});

test('every number reads back as itself', () => {
  fc.assert(
    fc.property(
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.integer({ min: 0, max: 9 }),
      (value, decimals) => {
        const text = number(value, decimals);
        assert.ok(text.length <= WIDEST);
        assert.ok(Number(text) === value, `${value} was written as ${text}`);
      },
    ),
  );
  fc.assert(
    fc.property(fc.maxSafeInteger(), fc.integer({ min: 0, max: 9 }), (whole, decimals) => {
      const value = whole / 10 ** decimals;
      assert.ok(Number(number(value, decimals)) === value);
    }),
  );
});

test('floating point always shows its point', () => {
  assert.equal(float(100), '100.0');
  assert.equal(float(0), '0.0');
  assert.equal(float(12.5), '12.5');
  assert.equal(float(1e20), '100000000000000000000');
});

test('times as in ISO 8601, on both sides of midnight and of 1970', () => {
  const iso = (time: number): string => bytes.toString('latin1', 0, putIso(bytes, 0, time));
  assert.equal(iso(Date.UTC(2026, 0, 31, 23, 59, 59) * 1000 + 999_999), '2026-01-31T23:59:59.999999Z');
  assert.equal(iso(Date.UTC(2026, 1, 1) * 1000), '2026-02-01T00:00:00.000000Z');
  assert.equal(iso(Date.UTC(2024, 1, 29, 12, 34, 56) * 1000 + 1), '2024-02-29T12:34:56.000001Z');
  assert.equal(iso(-1), '1969-12-31T23:59:59.999999Z');
  assert.equal(iso(Number.NaN), '');
  fc.assert(
    fc.property(fc.integer({ min: -2e12, max: 4e12 }), (milliseconds) => {
      assert.equal(iso(milliseconds * 1000).replace('000Z', 'Z'), new Date(milliseconds).toISOString());
    }),
  );
});

test('naive times with and without milliseconds', () => {
  const time = Date.UTC(2025, 0, 1, 10, 0, 1) * 1000 + 250_999;
  assert.equal(bytes.toString('latin1', 0, putTime(bytes, 0, time, 32, 0)), '2025-01-01 10:00:01');
  assert.equal(bytes.toString('latin1', 0, putTime(bytes, 0, time, 32, 3)), '2025-01-01 10:00:01.250');
});

test('leading zeros', () => {
  assert.equal(bytes.toString('latin1', 0, putPadded(bytes, 0, 7, 3)), '007');
  assert.equal(bytes.toString('latin1', 0, putPadded(bytes, 0, 1234, 4)), '1234');
});
