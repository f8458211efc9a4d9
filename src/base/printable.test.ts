import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ascii, printable } from './printable.ts';

test("plain text has Tacho's own punctuation in ASCII, and letters as people wrote them", () => {
  assert.equal(ascii('2 × 5 µs · c1–c3 → …'), '2 x 5 us , c1-c3 -> ...');
  assert.equal(ascii('Phase "Übergröße" – 日本語'), 'Phase "Übergröße" - 日本語');
});

test('control characters are spelt out', () => {
  assert.equal(printable('a\tb\n\x1b[31mü\x9b\u202e'), 'a\\tb\\n\\x1b[31mü\\x9b\\u202e');
});
