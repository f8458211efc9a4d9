import { isAscii } from 'node:buffer';
import { crc32 } from 'node:zlib';
import type { TextBytes } from './batch.ts';

/** Bytes from which on a call into native code pays. */
const LONG = 64;
/** Bytes of all texts up to which they are made as one string; there is none of more than 512 MiB. */
const ONE_STRING = 2 ** 26;

const EMPTY = Buffer.alloc(0);

/** Distinct texts, found again by their bytes: reading a file makes one string a distinct value, not one a cell. */
export class TextPool {
  /** Number of distinct texts. */
  size = 0;
  // small at first: most files of most jobs have a few texts
  private slots = new Int32Array(16).fill(-1);
  private hashes = new Int32Array(8);
  private ends = new Uint32Array(9);
  private bytes = Buffer.allocUnsafe(64);

  /** The code of the text in bytes[from, to). */
  code(bytes: Uint8Array, from: number, to: number): number {
    const hash = to - from > LONG ? crc32(bytes.subarray(from, to)) | 0 : hashOf(bytes, from, to);
    const mask = this.slots.length - 1;
    let slot = (hash ^ (hash >>> 15)) & mask;
    for (;;) {
      const code = this.slots[slot]!;
      if (code < 0) return this.add(bytes, from, to, hash, slot);
      if (this.hashes[code] === hash && this.equals(code, bytes, from, to)) return code;
      slot = (slot + 1) & mask;
    }
  }

  /** For C, which finds and adds texts: slots, hashes, ends and bytes. They are others after a text is added here. */
  get lookUp(): readonly [Int32Array, Int32Array, Uint32Array, Uint8Array] {
    return [this.slots, this.hashes, this.ends, this.bytes];
  }

  codeOf(text: string): number {
    const bytes = text === '' ? EMPTY : Buffer.from(text);
    return this.code(bytes, 0, bytes.length);
  }

  /** Room for texts that are about to come, at once. */
  reserve(texts: number, bytes: number): void {
    const used = this.ends[this.size]!;
    this.roomForBytes(used, used + bytes);
    this.roomForTexts(this.size + texts);
    if ((this.size + texts) * 2 > this.slots.length) this.rehash(2 ** Math.ceil(Math.log2((this.size + texts) * 2)));
  }

  /** All texts, by code. */
  values(oneString = ONE_STRING): string[] {
    const { ends } = this;
    // most columns of most small tables have no texts
    if (ends[this.size] === 0) return new Array<string>(this.size).fill('');
    const used = this.bytes.subarray(0, ends[this.size]);
    // one string, of which the others are parts, costs a third of many
    const all = used.length <= oneString && isAscii(used) ? used.toString('latin1') : undefined;
    const values = new Array<string>(this.size);
    for (let i = 0; i < this.size; i++)
      values[i] = all?.slice(ends[i], ends[i + 1]) ?? used.toString('utf8', ends[i], ends[i + 1]);
    return values;
  }

  /** The same without strings. */
  packed(): TextBytes {
    const starts = this.ends.subarray(0, this.size + 1);
    return { bytes: this.bytes.subarray(0, starts[this.size]), starts };
  }

  private equals(code: number, bytes: Uint8Array, from: number, to: number): boolean {
    const start = this.ends[code]!;
    if (this.ends[code + 1]! - start !== to - from) return false;
    if (to - from > LONG) return this.bytes.compare(bytes, from, to, start, start + to - from) === 0;
    for (let i = 0; i < to - from; i++) if (this.bytes[start + i] !== bytes[from + i]) return false;
    return true;
  }

  private add(bytes: Uint8Array, from: number, to: number, hash: number, slot: number): number {
    const code = this.size++;
    const start = this.ends[code]!;
    const end = start + to - from;
    this.roomForBytes(start, end);
    if (end - start > LONG) this.bytes.set(bytes.subarray(from, to), start);
    else for (let i = 0; i < end - start; i++) this.bytes[start + i] = bytes[from + i]!;
    this.roomForTexts(this.size);
    this.hashes[code] = hash;
    this.ends[code + 1] = end;
    this.slots[slot] = code;
    if (this.size * 2 > this.slots.length) this.rehash(this.slots.length * 2);
    return code;
  }

  private roomForBytes(used: number, end: number): void {
    if (end <= this.bytes.length) return;
    const grown = Buffer.allocUnsafeSlow(Math.max(end, this.bytes.length * 2));
    this.bytes.copy(grown, 0, 0, used);
    this.bytes = grown;
  }

  private roomForTexts(texts: number): void {
    if (texts <= this.hashes.length) return;
    const most = Math.max(texts, this.hashes.length * 2);
    this.hashes = grow(this.hashes, new Int32Array(most));
    this.ends = grow(this.ends, new Uint32Array(most + 1));
  }

  /** `slots` is a power of two. */
  private rehash(slots: number): void {
    const mask = slots - 1;
    this.slots = new Int32Array(slots).fill(-1);
    for (let code = 0; code < this.size; code++) {
      const hash = this.hashes[code]!;
      let slot = (hash ^ (hash >>> 15)) & mask;
      while (this.slots[slot]! >= 0) slot = (slot + 1) & mask;
      this.slots[slot] = code;
    }
  }
}

function hashOf(bytes: Uint8Array, from: number, to: number): number {
  let hash = 0x811c9dc5 | 0;
  let at = from;
  for (; at + 4 <= to; at += 4) {
    const word = bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);
    hash = Math.imul(hash ^ word, 0x9e3779b1);
    hash ^= hash >>> 15;
  }
  for (; at < to; at++) hash = Math.imul(hash ^ bytes[at]!, 0x01000193);
  return hash;
}

function grow<T extends Int32Array | Uint32Array>(old: T, larger: T): T {
  larger.set(old);
  return larger;
}
