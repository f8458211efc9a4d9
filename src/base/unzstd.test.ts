import assert from 'node:assert/strict';
import { test } from 'node:test';
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { statedSize, unzstd } from './unzstd.ts';

const plain = Buffer.from(Array.from({ length: 3000 }, (_, i) => (i * i) % 251));
const options = { maxOutputLength: plain.length };
const packed = zstdCompressSync(plain, { params: { [constants.ZSTD_c_checksumFlag]: 1 } });

/** What comes of it, or why nothing does. */
function messageOf(unpack: () => Buffer): string {
  try {
    return unpack().toString('base64');
  } catch (error) {
    return String(error);
  }
}

test('one decompressor does many texts, also after damaged ones, as Node does each of them', () => {
  const flipped = Array.from({ length: 50 }, (_, i) => {
    const bytes = Buffer.from(packed);
    bytes[(i * 7919) % bytes.length]! ^= 1 << (i % 8);
    return bytes;
  });
  const cut = Array.from({ length: 20 }, (_, i) => packed.subarray(0, packed.length - 1 - i));
  const longer = [Buffer.concat([packed, Buffer.from('x')]), Buffer.concat([packed, packed])];
  for (const bytes of [packed, ...flipped, packed, ...cut, ...longer, packed]) {
    const own = messageOf(() => unzstd(bytes, plain.length, options));
    assert.equal(
      own,
      messageOf(() => zstdDecompressSync(bytes, options)),
    );
  }
  assert.deepEqual(unzstd(packed, plain.length, options), plain);
});

test('a size that is wrong or not known does not matter', () => {
  for (const size of [undefined, 0, 1, plain.length - 1, plain.length + 1])
    assert.deepEqual(unzstd(packed, size, options), plain, String(size));
});

test('the head of a frame says how long its text is', () => {
  for (const size of [1, 255, 256, 3000, 70_000]) {
    const text = Buffer.from(Array.from({ length: size }, (_, i) => (i * i) % 251));
    const frame = zstdCompressSync(text);
    if (frame.length >= 18) assert.equal(statedSize(frame), size);
    assert.deepEqual(unzstd(frame, statedSize(frame), { maxOutputLength: size }), text);
  }
  assert.equal(statedSize(Buffer.from('this is no zstd frame at all')), undefined);
});
