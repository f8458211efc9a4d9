import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { decimal, lineEnd, number, scan, spells } from './digits.ts';

const bytesOf = (text: string): Buffer => Buffer.from(text, 'latin1');

test('any whole number up to 2^53 comes back, whatever stands around it', () => {
  const padding = fc.stringMatching(/^[ a-zA-Z:,=\t]{0,8}$/);
  fc.assert(
    fc.property(padding, fc.maxSafeNat(), padding, (before, value, after) => {
      const bytes = bytesOf(`${before}${value}${after}`);
      assert.equal(number(bytes, 0, bytes.length), value);
      assert.equal(scan.at, before.length + String(value).length);
    }),
  );
});

test('any decimal number comes back, with its sign', () => {
  fc.assert(
    fc.property(fc.integer({ min: -(10 ** 9), max: 10 ** 9 }), fc.integer({ min: 0, max: 6 }), (digits, decimals) => {
      const text = (digits / 10 ** decimals).toFixed(decimals);
      const bytes = bytesOf(`avg=${text} rest`);
      const read = decimal(bytes, 3, bytes.length);
      assert.ok(Math.abs(read - Number(text)) <= Math.abs(Number(text)) * 1e-15, `${text} became ${read}`);
      assert.equal(scan.at, 4 + text.length);
    }),
  );
});

test('calls chain through a line', () => {
  const bytes = bytesOf('cpu0 17 0 4711\n99');
  const stop = lineEnd(bytes, 0, bytes.length);
  assert.equal(number(bytes, 4, stop), 17);
  assert.equal(number(bytes, scan.at, stop), 0);
  assert.equal(number(bytes, scan.at, stop), 4711);
  assert.equal(number(bytes, scan.at, stop), Number.NaN);
});

test('nothing beyond the end is read', () => {
  const bytes = bytesOf('12345');
  assert.equal(number(bytes, 0, 3), 123);
  assert.equal(number(bytes, 0, 0), Number.NaN);
  assert.equal(decimal(bytesOf('1.25'), 0, 2), 1);
  assert.equal(lineEnd(bytesOf('ab\ncd\n'), 3, 4), 4);
});

test('spells compares whole words only where they stand', () => {
  const bytes = bytesOf('device nas');
  assert.equal(spells(bytes, 0, bytesOf('device ')), true);
  assert.equal(spells(bytes, 7, bytesOf('nas1')), false);
});
