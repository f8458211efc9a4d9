import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { bytesOf, textOf } from './byte-text.ts';

test('UTF-8 is itself; other bytes are quoted as bash does it', () => {
  const of = (bytes: string): string => textOf(Buffer.from(bytes, 'latin1'));
  assert.equal(textOf(Buffer.from('a\nb \\n ü')), 'a\nb \\n ü');
  assert.equal(of("a\xff'\\"), "$'a\\xff\\'\\\\'");
  assert.equal(of('\\xff'), '\\xff');
  assert.equal(of("$'\\xff'"), "$'$\\'\\\\xff\\''");
});

test('any bytes come back, and no two are the same text', () => {
  const near = fc.constantFrom(...Buffer.from("$'\\xf0a\n\xff\xc3\xa9", 'latin1'));
  const bytes = fc.oneof(
    fc.uint8Array(),
    fc.array(near).map((a) => Uint8Array.from(a)),
  );
  fc.assert(
    fc.property(bytes, (some) => {
      const text = textOf(Buffer.from(some));
      assert.deepEqual([...bytesOf(text)], [...some]);
      assert.ok(text.isWellFormed());
    }),
  );
});
