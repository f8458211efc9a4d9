import { zstdCompressSync, zstdDecompressSync } from 'node:zlib';

/** Number of characters that are compressed at once. */
const ENOUGH = 1 << 18;

/** Texts that are kept until all of them are there: of very many, most are compressed. */
export class PackedTexts {
  private readonly packed: Buffer[] = [];
  private last: string[] = [];
  private length = 0;

  add(text: string): void {
    this.last.push(text);
    this.length += text.length;
    if (this.length < ENOUGH) return;
    this.packed.push(zstdCompressSync(this.last.join('')));
    this.last = [];
    this.length = 0;
  }

  /** All of them, one after the other. */
  *texts(): Generator<string> {
    for (const bytes of this.packed) yield zstdDecompressSync(bytes).toString();
    yield* this.last;
  }
}
