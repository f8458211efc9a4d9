import { constants, ZstdDecompress, type ZstdOptions, zstdDecompressSync } from 'node:zlib';

/** What Node's own functions work with; it makes a new one for each call, which takes longer than a small text. */
interface Decompressor {
  _handle?: {
    reset(): void;
    writeSync(flush: number, from: Buffer, at: number, bytes: number, to: Buffer, start: number, room: number): void;
  } | null;
  /** Room that was left, and bytes that were not used. */
  _writeState?: Uint32Array;
  destroyed: boolean;
  on(event: 'error', heard: () => void): void;
}

/** Of larger texts a decompressor of their own is no matter. */
const SMALL = 256 << 10;

let kept: Decompressor | undefined;

/**
 * The same as zstdDecompressSync, for many small texts. `size`: how many bytes will come, if that is known exactly; then
 * one decompressor does them all. What is not as expected, or damaged, is left to zstdDecompressSync, which says why.
 */
export function unzstd(packed: Buffer, size: number | undefined, options: ZstdOptions): Buffer {
  const isKnown = size !== undefined && size > 0 && size <= Math.min(SMALL, options.maxOutputLength ?? 0);
  return (isKnown ? unpackedTo(packed, size) : undefined) ?? zstdDecompressSync(packed, options);
}

function unpackedTo(packed: Buffer, size: number): Buffer | undefined {
  if (kept === undefined) {
    kept = new ZstdDecompress() as unknown as Decompressor;
    // damage is found by who asked
    kept.on('error', () => {});
  }
  const { _handle: handle, _writeState: state } = kept;
  if (!handle || state === undefined) return undefined;
  // one byte more: what is longer than it says does not fit
  const bytes = Buffer.allocUnsafe(size + 1);
  handle.reset();
  handle.writeSync(constants.ZSTD_e_end, packed, 0, packed.length, bytes, 0, size + 1);
  const [room, unused] = state;
  if (!kept.destroyed && room === 1 && unused === 0) return bytes.subarray(0, size);
  kept = undefined;
  return undefined;
}

const MAGIC = 0xfd2fb528;

/** How many bytes a text has, as the head of its only frame says (RFC 8878, 3.1.1.1); undefined: it does not. */
export function statedSize(packed: Buffer): number | undefined {
  if (packed.length < 18 || packed.readUInt32LE(0) !== MAGIC) return undefined;
  const descriptor = packed[4]!;
  const isSingle = (descriptor & 0x20) !== 0;
  const at = 5 + (isSingle ? 0 : 1) + [0, 1, 2, 4][descriptor & 3]!;
  switch (descriptor >> 6) {
    case 0:
      return isSingle ? packed[at] : undefined;
    case 1:
      return packed.readUInt16LE(at) + 256;
    case 2:
      return packed.readUInt32LE(at);
    default:
      return undefined;
  }
}
