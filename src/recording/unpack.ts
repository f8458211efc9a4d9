import { zstdDecompressSync } from 'node:zlib';

const MOST_GUESSED = 8 << 20;

/** How long a compressed part will be, as its first frame says; else a guess. One buffer of that size is enough. */
export function contentSize(packed: Buffer): number {
  const guess = Math.min(MOST_GUESSED, Math.max(1024, packed.length * 4));
  if (packed.length < 14) return guess;
  const head = packed[4]!;
  const single = (head >> 5) & 1;
  const at = 6 - single + [0, 1, 2, 4][head & 3]!;
  const size = [single === 1 ? packed[at]! : guess, packed.readUInt16LE(at) + 256, packed.readUInt32LE(at), guess];
  return Math.min(1 << 30, Math.max(64, size[head >> 6]!));
}

/** What can be had of a compressed part whose end is missing or damaged. */
export function decompressStart(packed: Buffer): Buffer {
  // the end of the damaged block is unknown: take the longest beginning that still decompresses
  let good = Buffer.alloc(0);
  let low = 0;
  let high = packed.length;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    try {
      good = zstdDecompressSync(packed.subarray(0, middle), { finishFlush: 0 });
      low = middle;
    } catch {
      high = middle;
    }
  }
  return good;
}
