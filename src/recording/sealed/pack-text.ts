import { constants, zstdCompressSync } from 'node:zlib';

/** From level 15 on rows of digits become a quarter smaller. With a checksum, so that damage is seen. */
export function packText(text: string | Buffer, level = 15): Buffer {
  const bytes = typeof text === 'string' ? Buffer.from(text) : text;
  const params = { [constants.ZSTD_c_compressionLevel]: level, [constants.ZSTD_c_checksumFlag]: 1 };
  return zstdCompressSync(bytes, { params, chunkSize: bytes.length + 1024 });
}
