import type { TextPool } from '../../read/text-pool.ts';

/* The reverse of encode.ts. Everything checks its bounds by the page's length, which the caller knows. */

const TWO32 = 4294967296;

export function plainInt64(bytes: Buffer, count: number): Float64Array {
  if (bytes.length < count * 8) throw new Error('a page ends in the middle');
  const values = new Float64Array(count);
  const words = new Int32Array(count * 2);
  bytes.copy(Buffer.from(words.buffer), 0, 0, count * 8);
  for (let i = 0; i < count; i++) values[i] = words[2 * i + 1]! * TWO32 + (words[2 * i]! >>> 0);
  return values;
}

export function plainDouble(bytes: Buffer, count: number): Float64Array {
  if (bytes.length < count * 8) throw new Error('a page ends in the middle');
  const values = new Float64Array(count);
  bytes.copy(Buffer.from(values.buffer), 0, 0, count * 8);
  return values;
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

export function splitDouble(bytes: Buffer, count: number): Float64Array {
  if (bytes.length < count * 8) throw new Error('a page ends in the middle');
  const values = new Float64Array(count);
  const into = new Uint8Array(values.buffer);
  for (let b = 0; b < 8; b++) for (let i = 0; i < count; i++) into[i * 8 + b] = bytes[b * count + i]!;
  return values;
}

export function deltaInt64(bytes: Buffer, count: number): Float64Array {
  const values = new Float64Array(count);
  let at = 0;
  const varint = (): number => {
    let value = 0;
    let scale = 1;
    for (;;) {
      if (at >= bytes.length) throw new Error('a page ends in the middle');
      const byte = bytes[at++]!;
      value += (byte & 127) * scale;
      if (byte < 128) return value;
      scale *= 128;
    }
  };
  const zigzag = (): number => {
    const value = varint();
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  };
  const block = varint();
  const minis = varint();
  const total = varint();
  let value = zigzag();
  if (total !== count || block % (32 * minis) !== 0) throw new Error('a page is not what its header says');
  const mini = block / minis;
  if (count > 0) values[0] = value;
  for (let i = 1; i < count; ) {
    const least = zigzag();
    const widths = at;
    at += minis;
    for (let m = 0; m < minis && i < count; m++) {
      const width = bytes[widths + m]!;
      const end = Math.min(count, i + mini);
      const next = at + (width * mini) / 8;
      if (next > bytes.length) throw new Error('a page ends in the middle');
      if (width === 0) {
        for (; i < end; i++) {
          value += least;
          values[i] = value;
        }
      } else if (width <= 24) {
        const mask = (1 << width) - 1;
        let pending = 0;
        let bits = 0;
        for (; i < end; i++) {
          while (bits < width) {
            pending |= bytes[at++]! << bits;
            bits += 8;
          }
          value += least + (pending & mask);
          pending >>>= width;
          bits -= width;
          values[i] = value;
        }
      } else {
        for (let bit = 0; i < end; i++, bit += width) {
          value += least + bitsAt(bytes, at, bit, width);
          values[i] = value;
        }
      }
      at = next;
    }
  }
  return values;
}

/** `width` (25…64) bits at bit `bit` behind `base`. */
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

/** Runs and bit-packed groups of small numbers; returns `count` of them. */
export function runsAndBits(bytes: Buffer, from: number, end: number, width: number, count: number): Uint32Array {
  const values = new Uint32Array(count);
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
    if (head % 2 === 0) {
      let value = 0;
      for (let b = 0; b < width; b += 8) value |= bytes[at++]! << b;
      const to = Math.min(count, i + head / 2);
      values.fill(value, i, to);
      i = to;
    } else {
      const groups = (head - 1) / 2;
      const to = Math.min(count, i + groups * 8);
      const next = at + groups * width;
      const mask = width === 32 ? 0xffffffff : (1 << width) - 1;
      let pending = 0;
      let bits = 0;
      for (; i < to; i++) {
        while (bits < width) {
          pending |= bytes[at++]! << bits;
          bits += 8;
        }
        values[i] = pending & mask;
        pending >>>= width;
        bits -= width;
      }
      at = next;
    }
  }
  return values;
}
