import { constants, crc32, zstdCompressSync } from 'node:zlib';
import type { TextBytes } from '../../read/batch.ts';
import { dictionaryTexts } from './dictionary-texts.ts';
import {
  Bytes,
  bitWidth,
  deltaBytes,
  deltaInt64,
  plainDouble,
  plainInt64,
  runsAndBits,
  splitDouble,
} from './encode.ts';
import { Encoding, PageType } from './format.ts';
import { encodeStruct, i32, struct, writeVarint } from './thrift.ts';

/** A column of one row group, ready to be written: its pages, and what the footer says about it. */
export interface Chunk {
  pages: Buffer[];
  bytes: number;
  /** Size before compression. */
  plainBytes: number;
  /** Length of the dictionary page at the beginning; 0 when there is none. */
  dictionaryBytes: number;
  encodings: number[];
  nulls: number;
  min?: Buffer;
  max?: Buffer;
}

/** Higher levels cost much and gain nothing: what is left is noise. */
const USUAL = { [constants.ZSTD_c_compressionLevel]: 3 };
/** Half the time; of encoded pages it makes some tenths of a percent. */
const QUICK = { [constants.ZSTD_c_compressionLevel]: 1 };
/** One output buffer that is large enough: zlib would collect small ones. */
const pack = (bytes: Buffer, quick: boolean): Buffer =>
  quick && bytes.length <= TINY
    ? storedFrame(bytes)
    : zstdCompressSync(bytes, { params: quick ? QUICK : USUAL, chunkSize: bytes.length + 1024 });
/** So few bytes hardly get fewer, and a file of one row has two hundred such pages: setting up zstd for each takes 10 ms. */
const TINY = 32;

/** A frame of zstd whose only block is stored as it is (RFC 8878: single segment, size in one byte, raw block). */
function storedFrame(bytes: Buffer): Buffer {
  const frame = Buffer.allocUnsafe(9 + bytes.length);
  frame.writeUInt32LE(0xfd2fb528, 0);
  frame[4] = 0x20;
  frame[5] = bytes.length;
  frame.writeUIntLE((bytes.length << 3) | 1, 6, 3);
  bytes.copy(frame, 9);
  return frame;
}
/** So few rows of a column are one page: they are read in no time. */
const MOST_WHOLE_ROWS = 131_072;
/** Of a longer column whoever wants a short time reads few of such pages; smaller ones would take some percent more bytes. */
const PAGE_ROWS = 16_384;
const SAMPLE_ROWS = 8192;
const PLAIN_GAIN = 1.05;
const LARGEST_DICTIONARY = 1 << 16;
const scratch = new Bytes();
/** Of a text, instead of its place in a dictionary. */
const UNSEEN = -1;
const MISSING = -2;

/** Values without the missing ones, and how many come before each page. */
interface Dense {
  values: Float64Array;
  /** Bounds of the values; the wrong way round when there are none. */
  min: number;
  max: number;
  /** 1 where there is a value; undefined when there is one everywhere. */
  present: Uint8Array | undefined;
  rows: number;
}

interface Form {
  type: 'int' | 'float';
  optional: boolean;
  quick: boolean;
}

/** Numbers, NaN = null. Every encoding that could win is tried and the smallest is taken; `quick` tries the likeliest. */
export function numberChunk(column: Float64Array, type: 'int' | 'float', optional: boolean, quick = false): Chunk {
  const form: Form = { type, optional, quick };
  const dense = dropMissing(column);
  const { values, min, max } = dense;
  const constant = values.length > 0 && min === max;
  let tries = constant
    ? [dictionary]
    : type === 'int'
      ? [delta, dictionary, plainInt, wholeDelta]
      : [split, dictionary, plainFloat];
  if (type === 'int' && max - min > 2 ** 51) tries = [dictionary, plainInt];
  if (values.length === 0) tries = [type === 'int' ? plainInt : plainFloat];
  // of times neighbours are alike, however few a look at some of them finds
  if (quick && tries.length > 3 && !optional) tries = [wholeDelta];
  else if (quick && tries.length > 2) tries = [tries[likeliest(values, max - min)]!];
  if (values.length > 4 * SAMPLE_ROWS && tries.length > 1) {
    const sample = column.subarray(0, SAMPLE_ROWS * 2);
    const sizes = tries.map((attempt) => attempt(dropMissing(sample), form)?.bytes ?? Number.POSITIVE_INFINITY);
    const best = Math.min(...sizes);
    tries = tries.filter((_, i) => sizes[i]! <= best * 1.25);
  }
  let chosen: Chunk | undefined;
  for (const attempt of tries) {
    const chunk = attempt(dense, form);
    // plain pages are large when they are read: they have to be worth it
    const room = attempt === plainInt || attempt === plainFloat ? PLAIN_GAIN : 1;
    if (chunk !== undefined && (chosen === undefined || chunk.bytes * room < chosen.bytes)) chosen = chunk;
  }
  chosen ??= (type === 'int' ? plainInt : plainFloat)(dense, form);
  if (values.length > 0) {
    scratch.length = 0;
    // zero has two signs: bounds must include both
    const bounds = Float64Array.of(min === 0 ? -0 : min, max === 0 ? 0 : max);
    if (type === 'int') plainInt64(scratch, bounds);
    else plainDouble(scratch, bounds);
    chosen.min = Buffer.from(scratch.data.subarray(0, 8));
    chosen.max = Buffer.from(scratch.data.subarray(8, 16));
  }
  return chosen;
}

/** Texts as a dictionary; '' is null when the column is optional. */
export function textChunk(
  codes: Uint32Array,
  values: readonly string[] | TextBytes,
  optional: boolean,
  quick = false,
): Chunk {
  const texts = dictionaryTexts(values);
  const used = new Uint32Array(Math.min(codes.length, texts.count));
  const indexOfCode = new Int32Array(texts.count).fill(UNSEEN);
  const indexes = new Uint32Array(codes.length);
  const present = new Uint8Array(codes.length);
  let distinct = 0;
  let count = 0;
  for (let i = 0; i < codes.length; i++) {
    const code = codes[i]!;
    let index = indexOfCode[code]!;
    if (index === UNSEEN) {
      index = optional && texts.isEmpty(code) ? MISSING : distinct;
      if (index !== MISSING) used[distinct++] = code;
      indexOfCode[code] = index;
    }
    if (index === MISSING) continue;
    present[i] = 1;
    indexes[count++] = index;
  }
  const inUse = used.subarray(0, distinct);
  scratch.length = 0;
  texts.write(scratch, inUse);
  const head = dictionaryPage(scratch.view(), distinct, quick);
  const all = count === codes.length;
  const chunk = dictionaryPages(head, scratch.length, indexes.subarray(0, count), distinct, {
    present: all ? undefined : present,
    rows: codes.length,
    optional,
    quick,
  });
  const bounds = texts.bounds(inUse);
  if (bounds !== undefined) [chunk.min, chunk.max] = bounds;
  return chunk;
}

function dropMissing(column: Float64Array): Dense {
  let min = Number.POSITIVE_INFINITY;
  let max = Number.NEGATIVE_INFINITY;
  let count = 0;
  for (let i = 0; i < column.length; i++) {
    const value = column[i]!;
    if (value >= min && value <= max) count++;
    else if (!Number.isNaN(value)) {
      count++;
      if (value < min) min = value;
      if (value > max) max = value;
    }
  }
  const rows = column.length;
  if (count === rows) return { values: column, min, max, present: undefined, rows };
  const values = new Float64Array(count);
  const present = new Uint8Array(rows);
  for (let i = 0, at = 0; i < rows; i++) {
    const value = column[i]!;
    if (Number.isNaN(value)) continue;
    values[at++] = value;
    present[i] = 1;
  }
  return { values, min, max, present, rows };
}

const plainInt = (dense: Dense, form: Form) => valuePages(dense, form, Encoding.PLAIN, plainInt64);
const plainFloat = (dense: Dense, form: Form) => valuePages(dense, form, Encoding.PLAIN, plainDouble);
const delta = (dense: Dense, form: Form) => valuePages(dense, form, Encoding.DELTA_BINARY_PACKED, deltaInt64);
const wholeDelta = (dense: Dense, form: Form) => valuePages(dense, form, Encoding.DELTA_BINARY_PACKED, deltaBytes);
const split = (dense: Dense, form: Form) => valuePages(dense, form, Encoding.BYTE_STREAM_SPLIT, splitDouble);

function valuePages(
  dense: Dense,
  { optional, quick }: Form,
  encoding: number,
  encode: (out: Bytes, values: Float64Array) => void,
): Chunk {
  return dataPages({ present: dense.present, rows: dense.rows, optional, quick }, encoding, (out, from, to) =>
    encode(out, dense.values.subarray(from, to)),
  );
}

/** Undefined when there are so many distinct values that a dictionary cannot pay. */
function dictionary(dense: Dense, { type, optional, quick }: Form): Chunk | undefined {
  const { values, min, max, present, rows } = dense;
  // whoever is quick has looked already
  if (!quick && mostlyDistinct(values)) return undefined;
  const most = Math.min(LARGEST_DICTIONARY, Math.max(16, values.length >> 1));
  const near = type === 'int' && max - min < Math.min(LARGEST_DICTIONARY, 2 * values.length);
  const coded = near ? codedNear(values, min, max) : codedAny(values, most);
  if (coded === undefined || coded.distinct.length > most) return undefined;
  const { distinct, indexes } = coded;
  scratch.length = 0;
  if (type === 'int') plainInt64(scratch, distinct);
  else plainDouble(scratch, distinct);
  const page = dictionaryPage(scratch.view(), distinct.length, quick);
  return dictionaryPages(page, scratch.length, indexes, distinct.length, { present, rows, optional, quick });
}

interface Coded {
  /** In order. */
  distinct: Float64Array;
  indexes: Uint32Array;
}

/** Whole numbers that lie near each other: a list of what could come serves instead of a map. */
function codedNear(values: Float64Array, min: number, max: number): Coded {
  const indexOfValue = new Uint32Array(max - min + 1);
  for (let i = 0; i < values.length; i++) indexOfValue[values[i]! - min] = 1;
  let count = 0;
  for (let i = 0; i < indexOfValue.length; i++) if (indexOfValue[i] === 1) indexOfValue[i] = count++;
  const distinct = new Float64Array(count);
  const indexes = new Uint32Array(values.length);
  for (let i = 0; i < values.length; i++) {
    const code = indexOfValue[values[i]! - min]!;
    indexes[i] = code;
    distinct[code] = values[i]!;
  }
  return { distinct, indexes };
}

/** Undefined when more than `most` are distinct. */
function codedAny(values: Float64Array, most: number): Coded | undefined {
  const codes = new Map<number, number>();
  const indexes = new Uint32Array(values.length);
  let previous = Number.NaN;
  let code = 0;
  for (let i = 0; i < values.length; i++) {
    const value = values[i]!;
    if (value !== previous) {
      previous = value;
      const knownCode = codes.get(value);
      if (knownCode === undefined) {
        if (codes.size >= most) return undefined;
        code = codes.size;
        codes.set(value, code);
      } else code = knownCode;
    }
    indexes[i] = code;
  }
  const distinct = Float64Array.from(codes.keys()).sort();
  const indexOfCode = new Uint32Array(distinct.length);
  for (let i = 0; i < distinct.length; i++) indexOfCode[codes.get(distinct[i]!)!] = i;
  for (let i = 0; i < indexes.length; i++) indexes[i] = indexOfCode[indexes[i]!]!;
  return { distinct, indexes };
}

/** A look at some values spread over the column. */
function mostlyDistinct(values: Float64Array): boolean {
  const looks = 512;
  if (values.length < 2 * looks) return false;
  const sampledValues = new Set<number>();
  for (let i = 0; i < looks; i++) sampledValues.add(values[Math.floor((i * values.length) / looks)]!);
  return sampledValues.size > 0.95 * looks;
}

/** 0: neighbours are alike. 1: few values are distinct. 2: neither. From a look at some of them. */
function likeliest(values: Float64Array, range: number): 0 | 1 | 2 {
  const looks = Math.min(512, values.length - 1);
  const sampledValues = new Set<number>();
  let steps = 0;
  for (let i = 0; i < looks; i++) {
    const at = Math.floor((i * (values.length - 1)) / looks);
    sampledValues.add(values[at]!);
    steps += Math.abs(values[at + 1]! - values[at]!);
  }
  if (sampledValues.size < looks / 2) return 1;
  return steps / looks < range / 256 ? 0 : 2;
}

function dictionaryPage(plain: Buffer, count: number, quick: boolean): Buffer {
  const packed = pack(plain, quick);
  const head = encodeStruct(
    struct(
      [1, i32(PageType.DICTIONARY)],
      [2, i32(plain.length)],
      [3, i32(packed.length)],
      [4, i32(crc32(packed) | 0)],
      [7, struct([1, i32(count)], [2, i32(Encoding.PLAIN)])],
    ),
  );
  return Buffer.concat([head, packed]);
}

interface Shape {
  present: Uint8Array | undefined;
  rows: number;
  optional: boolean;
  quick: boolean;
}

function dictionaryPages(page: Buffer, plainBytes: number, indexes: Uint32Array, count: number, shape: Shape): Chunk {
  const inWidth = (width: number): Chunk =>
    dataPages(shape, Encoding.RLE_DICTIONARY, (out, from, to) => {
      out.push([width]);
      runsAndBits(out, indexes.subarray(from, to), width);
    });
  const bits = bitWidth(Math.max(0, count - 1));
  // zstd finds in whole bytes what it does not see in seven bits, and they are read faster
  let chunk = inWidth(bits > 4 && bits < 8 ? 8 : bits);
  if (bits > 8 && bits < 16 && !shape.quick) {
    const whole = inWidth(16);
    if (whole.bytes < chunk.bytes) chunk = whole;
  }
  return {
    ...chunk,
    pages: [page, ...chunk.pages],
    bytes: chunk.bytes + page.length,
    plainBytes: chunk.plainBytes + plainBytes,
    dictionaryBytes: page.length,
    encodings: [Encoding.PLAIN, ...chunk.encodings],
  };
}

function dataPages(shape: Shape, encoding: number, encode: (out: Bytes, from: number, to: number) => void): Chunk {
  const chunk: Chunk = {
    pages: [],
    bytes: 0,
    plainBytes: 0,
    dictionaryBytes: 0,
    encodings: [encoding, Encoding.RLE],
    nulls: 0,
  };
  let from = 0;
  // times and keys are always read whole, and those of one series are mostly those of the next
  const pageRows = shape.optional && shape.rows > MOST_WHOLE_ROWS ? PAGE_ROWS : Math.max(1, shape.rows);
  for (let row = 0; row < shape.rows || row === 0; row += pageRows) {
    const end = Math.min(shape.rows, row + pageRows);
    const present = shape.present?.subarray(row, end);
    let count = end - row;
    if (present !== undefined) {
      count = 0;
      for (let i = 0; i < present.length; i++) count += present[i]!;
    }
    const levels = shape.optional ? definitionLevels(present, end - row) : Buffer.alloc(0);
    scratch.length = 0;
    encode(scratch, from, from + count);
    const packed = pack(scratch.view(), shape.quick);
    const nulls = end - row - count;
    const head = encodeStruct(
      struct(
        [1, i32(PageType.DATA_V2)],
        [2, i32(levels.length + scratch.length)],
        [3, i32(levels.length + packed.length)],
        [4, i32(crc32(packed, crc32(levels)) | 0)],
        [
          8,
          struct(
            [1, i32(end - row)],
            [2, i32(nulls)],
            [3, i32(end - row)],
            [4, i32(encoding)],
            [5, i32(levels.length)],
            [6, i32(0)],
          ),
        ],
      ),
    );
    chunk.pages.push(head, levels, packed);
    chunk.bytes += head.length + levels.length + packed.length;
    chunk.plainBytes += head.length + levels.length + scratch.length;
    chunk.nulls += nulls;
    from += count;
  }
  return chunk;
}

function definitionLevels(present: Uint8Array | undefined, rows: number): Buffer {
  const out = new Bytes(64);
  if (present !== undefined) runsAndBits(out, present, 1);
  else if (rows > 0) {
    // one run of ones
    const run: number[] = [];
    writeVarint(run, rows * 2);
    out.push([...run, 1]);
  }
  return out.view();
}
