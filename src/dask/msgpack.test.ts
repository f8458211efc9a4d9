import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { keyText, NotPacked, type Packed, pack, unpack } from './msgpack.ts';

const value = fc.letrec<{ value: Packed }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.constant(null),
    fc.boolean(),
    fc.maxSafeInteger(),
    fc.double({ noNaN: true }),
    fc.string({ unit: 'grapheme' }),
    fc.array(tie('value'), { maxLength: 5 }),
  ),
})).value;

test('what is packed comes back', () => {
  fc.assert(
    fc.property(value, (each) => {
      assert.deepEqual(unpack(pack(each)), Object.is(each, -0) ? 0 : each);
    }),
  );
});

test('the short forms of other writers are read', () => {
  const bytes = (text: string): Uint8Array => Buffer.from(text.replaceAll(' ', ''), 'hex');
  assert.equal(unpack(bytes('e0')), -32);
  assert.equal(unpack(bytes('cd 01 00')), 256);
  assert.equal(unpack(bytes('d1 ff 00')), -256);
  assert.equal(unpack(bytes('ca 3f c0 00 00')), 1.5);
  assert.deepEqual({ ...(unpack(bytes('82 a1 61 01 a1 62 93 c0 c2 c3')) as object) }, { a: 1, b: [null, false, true] });
  assert.deepEqual(unpack(bytes('dc 00 02 d9 01 61 a1 62')), ['a', 'b']);
  // a tuple as the key of a map is a key of Dask
  assert.deepEqual({ ...(unpack(bytes('81 92 a1 78 00 01')) as object) }, { "('x',0)": 1 });
});

test('bytes that are no MessagePack are refused, whatever they are', () => {
  assert.throws(() => unpack(Buffer.from('c1', 'hex')), NotPacked);
  assert.throws(() => unpack(Buffer.from('a5 61'.replace(' ', ''), 'hex')), NotPacked);
  assert.throws(() => unpack(Buffer.from('ddffffffff', 'hex')), NotPacked);
  assert.throws(() => unpack(Buffer.alloc(1000, 0x91)), NotPacked);
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
      try {
        unpack(bytes);
      } catch (error) {
        assert.ok(error instanceof NotPacked, String(error));
      }
    }),
  );
});

test('keys of Dask are texts, tuples as Python prints them without spaces behind commas', () => {
  assert.equal(keyText('inc-1'), 'inc-1');
  assert.equal(keyText(['x-1', 0, 3]), "('x-1',0,3)");
  assert.equal(keyText("('x-1', 0, 3)"), "('x-1',0,3)");
  assert.equal(keyText("('a, b', 1)"), "('a, b',1)");
  assert.equal(keyText(['x', ['y', 1.5], null]), "('x',('y',1.5),None)");
  assert.equal(keyText(["it's", 1]), '("it\'s",1)');
  assert.equal(keyText(['one']), "('one',)");
});
