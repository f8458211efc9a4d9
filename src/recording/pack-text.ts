import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { contentSize } from './unpack.ts';

/** From level 15 on rows of digits become a quarter smaller. With a checksum, so that damage is seen. */
export function packText(text: string | Buffer, level = 15): Buffer {
  const bytes = typeof text === 'string' ? Buffer.from(text) : text;
  const params = { [constants.ZSTD_c_compressionLevel]: level, [constants.ZSTD_c_checksumFlag]: 1 };
  return zstdCompressSync(bytes, { params, chunkSize: bytes.length + 1024 });
}

/** What `packText` has made of a text; one buffer of the right size: zlib would collect small ones. */
export const unpackText = (packed: Buffer): string =>
  zstdDecompressSync(packed, { chunkSize: contentSize(packed) }).toString();
