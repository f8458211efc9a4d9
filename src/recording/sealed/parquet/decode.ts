import { inBlocks } from '../../../base/blocks.ts';
import type { TextPool } from '../../read/text-pool.ts';

/*
 * The reverse of encode.ts. Everything checks its bounds by the page's length, which the caller knows. Numbers go to where the
 * caller wants them.
 */

const TWO32 = 4294967296;

export function plainInt64(bytes: Buffer, count: number, into: Float64Array = new Float64Array(count)): Float64Array {
  if (bytes.length < count * 8) throw new Error('a page ends in the middle');
  const alignedBytes = bytes.byteOffset % 4 === 0 ? bytes : Buffer.copyBytesFrom(bytes);
  const halves = new Int32Array(alignedBytes.buffer, alignedBytes.byteOffset, count * 2);
  inBlocks(0, count, joinHalves, halves, into);
  return into;
}

function joinHalves(from: number, to: number, halves: Int32Array, into: Float64Array): undefined {
  for (let i = from; i < to; i++) into[i] = halves[2 * i + 1]! * TWO32 + (halves[2 * i]! >>> 0);
}

export function plainDouble(bytes: Buffer, count: number, into: Float64Array = new Float64Array(count)): Float64Array {
  if (bytes.length < count * 8) throw new Error('a page ends in the middle');
  new Uint8Array(into.buffer, into.byteOffset, count * 8).set(bytes.subarray(0, count * 8));
  return into;
}

/** The codes that `pool` has for texts. */
export function plainTexts(bytes: Buffer, count: number, pool: TextPool): Uint32Array<ArrayBuffer> {
  if (bytes.length < count * 4) throw new Error('a page ends in the middle');
  const codes = new Uint32Array(count);
  pool.reserve(count, bytes.length - count * 4);
  let at = 0;
  for (let i = 0; i < count; i++) {
    const end = at + 4 + bytes.readUInt32LE(at);
    if (end > bytes.length) throw new Error('a page ends in the middle');
    codes[i] = pool.code(bytes, at + 4, end);
    at = end;
  }
  return codes;
}

export function splitDouble(bytes: Buffer, count: number, into: Float64Array = new Float64Array(count)): Float64Array {
  if (bytes.length < count * 8) throw new Error('a page ends in the middle');
  const own = new Uint8Array(into.buffer, into.byteOffset, count * 8);
  inBlocks(0, count, joinBytes, bytes, count, own);
  return into;
}

function joinBytes(from: number, to: number, bytes: Buffer, count: number, into: Uint8Array): undefined {
  for (let b = 0; b < 8; b++) for (let i = from; i < to; i++) into[i * 8 + b] = bytes[b * count + i]!;
}

export function deltaInt64(bytes: Buffer, count: number, into: Float64Array = new Float64Array(count)): Float64Array {
  const blocks = new DeltaBlocks(bytes, count);
  if (count > 0) into[0] = blocks.first;
  for (let i = 1; i < count; ) i = blocks.next(into, i);
  return into;
}

/** Differences, a block at a time. */
export class DeltaBlocks {
  /** The value before all blocks. */
  readonly first: number;
  /** Values of a block; the last one may have fewer. */
  readonly size: number;
  /** The least difference in the last block that was read, or less. */
  least = 0;
  readonly #bytes: Buffer;
  readonly #minis: number;
  #left: number;
  #at = 0;

  constructor(bytes: Buffer, count: number) {
    this.#bytes = bytes;
    this.size = this.#varint();
    this.#minis = this.#varint();
    const total = this.#varint();
    this.first = this.#zigzag();
    if (total !== count || this.size % (32 * this.#minis) !== 0) throw new Error('a page is not what its header says');
    this.#left = count - 1;
  }

  /** Puts the next block into into[at] and behind it; before it is the last value of the one before. Returns where it ends. */
  next(into: Float64Array, at: number): number {
    const least = this.#zigzag();
    this.least = least;
    const widths = this.#at;
    this.#at += this.#minis;
    const mini = this.size / this.#minis;
    let i = at;
    for (let m = 0; m < this.#minis && this.#left > 0; m++) {
      const width = this.#bytes[widths + m]!;
      const length = Math.min(this.#left, mini);
      const next = this.#at + (width * mini) / 8;
      if (!(next <= this.#bytes.length)) throw new Error('a page ends in the middle');
      addDeltas(this.#bytes, this.#at, width, least, into, i, i + length);
      i += length;
      this.#left -= length;
      this.#at = next;
    }
    return i;
  }

  #varint(): number {
    let value = 0;
    let scale = 1;
    for (;;) {
      if (this.#at >= this.#bytes.length) throw new Error('a page ends in the middle');
      const byte = this.#bytes[this.#at++]!;
      value += (byte & 127) * scale;
      if (byte < 128) return value;
      scale *= 128;
    }
  }

  /** The sign is taken off first: twice a number beyond 2^52 would be rounded. */
  #zigzag(): number {
    if (this.#at >= this.#bytes.length) throw new Error('a page ends in the middle');
    const first = this.#bytes[this.#at++]!;
    const half = ((first & 127) >> 1) + (first < 128 ? 0 : this.#varint() * 64);
    return first % 2 === 0 ? half : -half - 1;
  }
}

/** Each of into[from, to) is `least` and `width` bits more than the one before it. */
type AddDeltas = (
  bytes: Buffer,
  start: number,
  width: number,
  least: number,
  into: Float64Array,
  from: number,
  to: number,
) => void;

const addDeltas: AddDeltas = (bytes, start, width, least, into, from, to) => {
  if (width === 0) addEqual(least, into, from, to);
  else if (width === 8) addBytes(bytes, start, least, into, from, to);
  else if (width === 16) addPairs(bytes, start, least, into, from, to);
  else if (width % 8 === 0) addWholeBytes(bytes, start, width / 8, least, into, from, to);
  else if (width <= 24) addFewBits(bytes, start, width, least, into, from, to);
  else if (width < 32) addManyBits(bytes, start, width, least, into, from, to);
  else addWideDeltas(bytes, start, width, least, into, from, to);
};

function addEqual(least: number, into: Float64Array, from: number, to: number): void {
  let value = into[from - 1]!;
  for (let i = from; i < to; i++) {
    value += least;
    into[i] = value;
  }
}

function addBytes(bytes: Buffer, start: number, least: number, into: Float64Array, from: number, to: number): void {
  let value = into[from - 1]!;
  for (let i = from, at = start; i < to; i++) {
    value += least + bytes[at++]!;
    into[i] = value;
  }
}

function addPairs(bytes: Buffer, start: number, least: number, into: Float64Array, from: number, to: number): void {
  let value = into[from - 1]!;
  for (let i = from, at = start; i < to; i++, at += 2) {
    value += least + (bytes[at]! | (bytes[at + 1]! << 8));
    into[i] = value;
  }
}

/** Three to eight bytes. */
const addWholeBytes: AddDeltas = (bytes, start, width, least, into, from, to) => {
  for (let i = from, at = start; i < to; i++, at += width) {
    let high = 0;
    for (let b = width - 1; b >= 3; b--) high = high * 256 + bytes[at + b]!;
    const low = bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16);
    into[i] = into[i - 1]! + (least + (high * 16777216 + low));
  }
};

/** 1…24 bits. */
const addFewBits: AddDeltas = (bytes, start, width, least, into, from, to) => {
  const mask = (1 << width) - 1;
  let value = into[from - 1]!;
  let pending = 0;
  let bits = 0;
  for (let i = from, at = start; i < to; i++) {
    while (bits < width) {
      pending |= bytes[at++]! << bits;
      bits += 8;
    }
    value += least + (pending & mask);
    pending >>>= width;
    bits -= width;
    into[i] = value;
  }
};

/** 25…31 bits: they begin in the first of five bytes. */
const addManyBits: AddDeltas = (bytes, start, width, least, into, from, to) => {
  const mask = 2 ** width - 1;
  let value = into[from - 1]!;
  for (let i = from, bit = 0; i < to; i++, bit += width) {
    const at = start + (bit >>> 3);
    const skip = bit & 7;
    const low = bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);
    const all = skip + width <= 32 ? low >>> skip : (low >>> skip) | (bytes[at + 4]! << (32 - skip));
    value += least + (all & mask);
    into[i] = value;
  }
};

/** 32…64 bits. */
const addWideDeltas: AddDeltas = (bytes, start, width, least, into, from, to) => {
  for (let i = from, bit = 0; i < to; i++, bit += width)
    into[i] = into[i - 1]! + (least + bitsAt(bytes, start, bit, width));
};

/** `width` (32…64) bits at bit `bit` behind `base`. */
function bitsAt(bytes: Buffer, base: number, bit: number, width: number): number {
  let at = base + (bit >>> 3);
  const skip = bit & 7;
  let value = bytes[at++]! >>> skip;
  let have = 8 - skip;
  let scale = 2 ** have;
  while (have + 8 <= width) {
    value += bytes[at++]! * scale;
    scale *= 256;
    have += 8;
  }
  if (have < width) value += (bytes[at]! & ((1 << (width - have)) - 1)) * scale;
  return value;
}

/** Runs and bit-packed groups of small numbers, `count` of them: as they are, or what stands there in a dictionary. */
export function runsAndBits<T extends Float64Array | Uint32Array = Uint32Array>(
  bytes: Buffer,
  from: number,
  end: number,
  width: number,
  count: number,
  into = new Uint32Array(count) as T,
  dictionary?: T,
): T {
  let at = from;
  let i = 0;
  while (i < count) {
    let head = 0;
    let shift = 0;
    for (;;) {
      if (at >= end) throw new Error('a page ends in the middle');
      const byte = bytes[at++]!;
      head += (byte & 127) * 2 ** shift;
      if (byte < 128) break;
      shift += 7;
    }
    const values = head % 2 === 0 ? head / 2 : ((head - 1) / 2) * 8;
    const to = Math.min(count, i + values);
    if (head % 2 === 0) {
      let value = 0;
      for (let b = 0; b < width; b += 8) value |= bytes[at++]! << b;
      into.fill(dictionary === undefined ? value : dictionary[value]!, i, to);
    } else {
      inBlocks(0, to - i, unpackBits<T>, bytes.subarray(at), width, into.subarray(i) as T, dictionary);
      at += (values / 8) * width;
    }
    i = to;
  }
  return into;
}

/** Values of `width` bits; `from` is a multiple of 8. */
function unpackBits<T extends Float64Array | Uint32Array>(
  from: number,
  to: number,
  bytes: Buffer,
  width: number,
  into: T,
  dictionary: T | undefined,
): undefined {
  if (width === 8 && dictionary !== undefined) {
    for (let i = from; i < to; i++) into[i] = dictionary[bytes[i]!]!;
    return;
  }
  if (width === 16 && dictionary !== undefined) {
    for (let i = from; i < to; i++) into[i] = dictionary[bytes[2 * i]! | (bytes[2 * i + 1]! << 8)]!;
    return;
  }
  const mask = width === 32 ? 0xffffffff : (1 << width) - 1;
  let at = (from / 8) * width;
  let pending = 0;
  let bits = 0;
  for (let i = from; i < to; i++) {
    while (bits < width) {
      pending |= bytes[at++]! << bits;
      bits += 8;
    }
    into[i] = dictionary === undefined ? pending & mask : dictionary[pending & mask]!;
    pending >>>= width;
    bits -= width;
  }
}
