import { writeVarint, writeZigzag } from './thrift.ts';

/*
 * Parquet's encodings of numbers that JavaScript holds as doubles. INT64 is written as two halves: BigInt would cost
 * ten times as much.
 */

/** Grows as it is written; one is reused from page to page. */
export class Bytes {
  data: Buffer;
  length = 0;

  constructor(size = 1 << 16) {
    this.data = Buffer.allocUnsafeSlow(size);
  }

  room(more: number): void {
    if (this.length + more <= this.data.length) return;
    const grown = Buffer.allocUnsafeSlow(Math.max(this.data.length * 2, this.length + more));
    this.data.copy(grown, 0, 0, this.length);
    this.data = grown;
  }

  push(values: readonly number[]): void {
    this.room(values.length);
    for (const value of values) this.data[this.length++] = value;
  }

  view(): Buffer {
    return this.data.subarray(0, this.length);
  }
}

const TWO32 = 4294967296;

export function plainInt64(out: Bytes, values: Float64Array): void {
  out.room(values.length * 8);
  const { data } = out;
  let at = out.length;
  for (let i = 0; i < values.length; i++, at += 8) {
    const value = values[i]!;
    const high = Math.floor(value / TWO32);
    const low = value - high * TWO32;
    data[at] = low;
    data[at + 1] = low >>> 8;
    data[at + 2] = low >>> 16;
    data[at + 3] = low >>> 24;
    data[at + 4] = high;
    data[at + 5] = high >>> 8;
    data[at + 6] = high >>> 16;
    data[at + 7] = high >>> 24;
  }
  out.length = at;
}

export function plainDouble(out: Bytes, values: Float64Array): void {
  out.room(values.length * 8);
  Buffer.from(values.buffer, values.byteOffset, values.byteLength).copy(out.data, out.length);
  out.length += values.byteLength;
}

/** All first bytes, then all second bytes, …: doubles with similar exponents compress better so. */
export function splitDouble(out: Bytes, values: Float64Array): void {
  const count = values.length;
  out.room(count * 8);
  const bytes = new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
  for (let b = 0; b < 8; b++) {
    for (let i = 0; i < count; i++) out.data[out.length + i] = bytes[i * 8 + b]!;
    out.length += count;
  }
}

const BLOCK = 128;
const MINI = 32;

/** Differences between neighbours, bit-packed in groups of 32. Values must lie within 2^51 of each other. */
export function deltaInt64(out: Bytes, values: Float64Array): void {
  const count = values.length;
  const head: number[] = [];
  writeVarint(head, BLOCK);
  writeVarint(head, BLOCK / MINI);
  writeVarint(head, count);
  writeZigzag(head, count > 0 ? values[0]! : 0);
  out.push(head);
  const deltas = new Float64Array(BLOCK);
  const widths = [0, 0, 0, 0];
  for (let block = 1; block < count; block += BLOCK) {
    const size = Math.min(BLOCK, count - block);
    let least = Number.POSITIVE_INFINITY;
    for (let i = 0; i < size; i++) {
      const delta = values[block + i]! - values[block + i - 1]!;
      deltas[i] = delta;
      if (delta < least) least = delta;
    }
    for (let m = 0; m < 4; m++) {
      let most = 0;
      for (let i = m * MINI; i < Math.min(size, m * MINI + MINI); i++) {
        const above = deltas[i]! - least;
        deltas[i] = above;
        if (above > most) most = above;
      }
      widths[m] = bitWidth(most);
    }
    deltas.fill(0, size);
    const prefix: number[] = [];
    writeZigzag(prefix, least);
    prefix.push(...widths);
    out.push(prefix);
    for (let m = 0; m < 4; m++) {
      // groups behind the last value are not written
      if (m * MINI >= size) break;
      packMini(out, deltas, m * MINI, widths[m]!);
    }
  }
}

const WHOLE_BLOCK = 512;
const WHOLE_MINI = 128;

/**
 * The same in whole bytes, of which zstd finds what it does not see in bits: the times of a second series are those of the first.
 * For that, differences are counted from the same one in most blocks. They are read faster, too.
 */
export function deltaBytes(out: Bytes, values: Float64Array): void {
  const count = values.length;
  const common = commonLeast(values);
  const head: number[] = [];
  writeVarint(head, WHOLE_BLOCK);
  writeVarint(head, WHOLE_BLOCK / WHOLE_MINI);
  writeVarint(head, count);
  writeZigzag(head, count > 0 ? values[0]! : 0);
  out.push(head);
  for (let block = 1; block < count; block += WHOLE_BLOCK) {
    const least = Math.min(common, leastDelta(values, block, Math.min(count, block + WHOLE_BLOCK)));
    const prefix: number[] = [];
    writeZigzag(prefix, least);
    const widths = [0, 0, 0, 0];
    for (let m = 0; m < widths.length; m++) {
      const from = block + m * WHOLE_MINI;
      if (from < count) {
        const most = mostDelta(values, from, Math.min(count, from + WHOLE_MINI)) - least;
        widths[m] = Math.ceil(bitWidth(most) / 8);
      }
    }
    out.push([...prefix, ...widths.map((bytes) => bytes * 8)]);
    for (let m = 0; m < widths.length && block + m * WHOLE_MINI < count; m++)
      putDeltas(out, values, block + m * WHOLE_MINI, least, widths[m]!);
  }
}

/**
 * From what most differences can be counted without needing more bytes. Where a series ends, and where a counter begins again, is
 * a jump: a block with one counts from that.
 */
function commonLeast(values: Float64Array): number {
  const leasts: number[] = [];
  const mosts: number[] = [];
  for (let block = 1; block < values.length; block += WHOLE_BLOCK) {
    const end = Math.min(values.length, block + WHOLE_BLOCK);
    leasts.push(leastDelta(values, block, end));
    mosts.push(mostDelta(values, block, end));
  }
  const sorted = Float64Array.from(leasts).sort();
  const candidates = new Set(TRIED_SHARES.map((share) => sorted[Math.floor(share * (sorted.length - 1))]!));
  let [chosen, fewest] = [0, Number.POSITIVE_INFINITY];
  for (const candidate of candidates) {
    let bytes = 0;
    for (let b = 0; b < leasts.length; b++)
      bytes += Math.ceil(bitWidth(mosts[b]! - Math.min(candidate, leasts[b]!)) / 8);
    // the first is the least, from which most blocks can count
    if (bytes < fewest) [chosen, fewest] = [candidate, bytes];
  }
  return chosen;
}

const TRIED_SHARES = [0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5];

function leastDelta(values: Float64Array, from: number, to: number): number {
  let least = Number.POSITIVE_INFINITY;
  for (let i = from; i < to; i++) {
    const delta = values[i]! - values[i - 1]!;
    if (delta < least) least = delta;
  }
  return least;
}

function mostDelta(values: Float64Array, from: number, to: number): number {
  let most = Number.NEGATIVE_INFINITY;
  for (let i = from; i < to; i++) {
    const delta = values[i]! - values[i - 1]!;
    if (delta > most) most = delta;
  }
  return most;
}

/** A group of differences, `width` bytes each; those behind the last value are 0. */
function putDeltas(out: Bytes, values: Float64Array, from: number, least: number, width: number): void {
  const size = WHOLE_MINI * width;
  out.room(size);
  const { data } = out;
  let at = out.length;
  const end = Math.min(values.length, from + WHOLE_MINI);
  for (let i = from; i < end; i++) {
    const above = values[i]! - values[i - 1]! - least;
    const high = Math.floor(above / TWO32);
    const low = above - high * TWO32;
    for (let b = 0; b < width; b++) data[at++] = b < 4 ? low >>> (8 * b) : high >>> (8 * b - 32);
  }
  data.fill(0, at, out.length + size);
  out.length += size;
}

function packMini(out: Bytes, values: Float64Array, from: number, width: number): void {
  if (width === 0) return;
  out.room(width * 4 + 8);
  const { data } = out;
  let at = out.length;
  if (width <= 24) {
    let pending = 0;
    let bits = 0;
    for (let i = 0; i < MINI; i++) {
      pending |= values[from + i]! << bits;
      bits += width;
      while (bits >= 8) {
        data[at++] = pending;
        pending >>>= 8;
        bits -= 8;
      }
    }
  } else {
    // at most 53 + 7 bits are pending: two halves of 24 and the rest keep every product exact
    let pending = 0;
    let bits = 0;
    for (let i = 0; i < MINI; i++) {
      let rest = values[from + i]!;
      let left = width;
      while (left > 0) {
        const take = Math.min(left, 24);
        const high = Math.floor(rest / 16777216);
        pending += (left > 24 ? rest - high * 16777216 : rest) * (1 << bits);
        rest = high;
        bits += take;
        left -= take;
        while (bits >= 8) {
          const next = Math.floor(pending / 256);
          data[at++] = pending - next * 256;
          pending = next;
          bits -= 8;
        }
      }
    }
  }
  out.length += width * 4;
}

export function bitWidth(most: number): number {
  return most < TWO32 ? 32 - Math.clz32(most) : 64 - Math.clz32(Math.floor(most / TWO32));
}

/** Runs of so many are worth an entry of their own among many values: zstd packs shorter ones as well, and each takes time to read. */
const LONG_RUN = 256;

/** Small numbers: long runs (among few values: of eight and more) as one, everything else bit-packed. */
export function runsAndBits(out: Bytes, values: Uint8Array | Uint32Array, width: number): void {
  const count = values.length;
  const shortest = Math.min(LONG_RUN, Math.max(8, count >> 4));
  let packedFrom = 0;
  let i = 0;
  while (i < count) {
    const value = values[i]!;
    let end = i + 1;
    while (end < count && values[end] === value) end++;
    if (end - i >= shortest) {
      // a packed group holds eight: a run may begin only where one ends
      const start = packedFrom + Math.ceil((i - packedFrom) / 8) * 8;
      if (end - start >= shortest) {
        packGroups(out, values, packedFrom, start, width);
        const head: number[] = [];
        writeVarint(head, (end - start) * 2);
        for (let b = 0; b < width; b += 8) head.push((value >>> b) & 255);
        out.push(head);
        packedFrom = end;
      }
    }
    i = end;
  }
  packGroups(out, values, packedFrom, count, width);
}

/** Groups of eight; what the last one lacks is 0. */
function packGroups(out: Bytes, values: Uint8Array | Uint32Array, from: number, to: number, width: number): void {
  const groups = Math.ceil((to - from) / 8);
  if (groups === 0) return;
  const head: number[] = [];
  writeVarint(head, groups * 2 + 1);
  out.push(head);
  out.room(groups * width + 8);
  const { data } = out;
  const end = Math.min(values.length, from + groups * 8);
  let at = out.length;
  let pending = 0;
  let bits = 0;
  for (let v = from; v < end; v++) {
    pending |= values[v]! << bits;
    bits += width;
    while (bits >= 8) {
      data[at++] = pending;
      pending >>>= 8;
      bits -= 8;
    }
  }
  out.length += groups * width;
  for (; at < out.length; pending >>>= 8) data[at++] = pending;
}
