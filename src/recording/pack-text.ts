import { constants, zstdCompressSync } from 'node:zlib';

/** As high as it pays for files of some hundred kilobytes; with a checksum, so that damage is seen. */
const params = { [constants.ZSTD_c_compressionLevel]: 15, [constants.ZSTD_c_checksumFlag]: 1 };

export function packText(text: string | Buffer): Buffer {
  const bytes = typeof text === 'string' ? Buffer.from(text) : text;
  return zstdCompressSync(bytes, { params, chunkSize: bytes.length + 1024 });
}
