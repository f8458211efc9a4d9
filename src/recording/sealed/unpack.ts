import { constants, zstdDecompressSync } from 'node:zlib';
import { code, reason } from '../../base/fault.ts';
import { statedSize, unzstd } from '../../base/unzstd.ts';

const MOST_GUESSED = 8 << 20;

/** Agents begin a new part at 64 MiB: what is, or unpacks to, much more than that is none of theirs. */
export const MOST_PART_BYTES = 256 << 20;

/** How long a compressed part will be, as its first frame says; else a guess. One buffer of that size is enough. */
export function contentSize(packed: Buffer): number {
  const guess = Math.min(MOST_GUESSED, Math.max(1024, packed.length * 4));
  return Math.min(MOST_PART_BYTES, Math.max(64, statedSize(packed) ?? guess));
}

/** All of what was compressed; throws when it is damaged, or more than `most` bytes. */
export function unpackWhole(packed: Buffer, most = MOST_PART_BYTES): Buffer {
  return unzstd(packed, statedSize(packed), { chunkSize: Math.min(most, contentSize(packed)), maxOutputLength: most });
}

/** What a compressed file holds that may be relied on, if it is at most `most` bytes, and why that is not all of it. */
export function unpackFile(packed: Buffer, most = MOST_PART_BYTES): { bytes: Buffer; unreadable?: string } {
  try {
    return { bytes: unpackWhole(packed, most) };
  } catch (error) {
    const why = (problem: string): string => `cannot be decompressed: ${problem}`;
    if (code(error) === TOO_LARGE)
      return { bytes: Buffer.alloc(0), unreadable: why(`it unpacks to more than ${most} bytes`) };
    if (code(error) === CUT_OFF) return { bytes: decompressStart(packed, most), unreadable: why('it is cut off') };
    // what fails its checksum may be wrong anywhere, also where it can be decompressed
    const damaged = code(error)?.includes('checksum') ? 'its checksum is wrong' : reason(error);
    return { bytes: Buffer.alloc(0), unreadable: why(`${damaged}; nothing of it is used`) };
  }
}

const TOO_LARGE = 'ERR_BUFFER_TOO_LARGE';

/** How zlib says that the input ended too early: what came before is as it was written. */
const CUT_OFF = 'Z_BUF_ERROR';

/** What can be had of a compressed file whose end is missing: all of its whole blocks. */
const decompressStart = (packed: Buffer, most: number): Buffer =>
  zstdDecompressSync(packed, { finishFlush: constants.ZSTD_e_continue, maxOutputLength: most });
