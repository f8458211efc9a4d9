import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ascii, asciiAround, printable } from './printable.ts';

test("plain text has Tacho's own punctuation in ASCII, and letters as people wrote them", () => {
  assert.equal(ascii('2 × 5 µs · c1–c3 → …'), '2 x 5 us , c1-c3 -> ...');
  assert.equal(ascii('Phase "Übergröße" – 日本語'), 'Phase "Übergröße" - 日本語');
});

test('what people have named keeps its punctuation, too', () => {
  const say = asciiAround(['5 µm → 3 µm (a|b)', 'c1', '5 µm']);
  assert.equal(say('5 µm → 3 µm (a|b): 2 × 7 µs; 5 µm – c1'), '5 µm → 3 µm (a|b): 2 x 7 us; 5 µm - c1');
  assert.equal(asciiAround(['c1'])('c1 – 2 µs'), 'c1 - 2 us');
});

test('control characters are spelt out', () => {
  assert.equal(printable('a\tb\n\x1b[31mü\x9b\u202e'), 'a\\tb\\n\\x1b[31mü\\x9b\\u202e');
});
