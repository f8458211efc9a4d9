import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { TextPool } from './text-pool.ts';

test('each text has one code, and comes back by it, whatever room was made before', () => {
  const long = fc.string({ unit: 'grapheme', maxLength: 200 });
  fc.assert(
    fc.property(
      fc.array(fc.oneof(long, fc.constantFrom('', 'a', 'b'))),
      fc.nat(300),
      fc.nat(5000),
      (texts, n, bytes) => {
        const pool = new TextPool();
        const codes = texts.map((text, i) => {
          if (i === texts.length >> 1) pool.reserve(n, bytes);
          return pool.codeOf(text);
        });
        const values = pool.values();
        assert.deepEqual(
          codes.map((code) => values[code]),
          texts,
        );
        assert.deepEqual(pool.values(0), values);
        assert.equal(pool.size, new Set(texts).size);
        assert.deepEqual(
          texts.map((text) => pool.codeOf(text)),
          codes,
        );
      },
    ),
  );
});

test('many texts that differ in their middle only are told apart', () => {
  const pool = new TextPool();
  const texts = Array.from({ length: 5000 }, (_, i) => `${'x'.repeat(100)}${i}${'y'.repeat(100)}`);
  assert.deepEqual(
    texts.map((text) => pool.codeOf(text)),
    texts.map((_, i) => i),
  );
  assert.deepEqual(pool.values(), texts);
});
