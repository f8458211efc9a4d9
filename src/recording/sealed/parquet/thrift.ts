/**
 * Thrift's compact protocol, as far as Parquet's footer and page headers need it. A struct is a list of fields
 * [id, value]; whole numbers say their width because the protocol does not store it.
 */
export type Value = I32 | I64 | boolean | string | Uint8Array | Struct | Value[];
export type Struct = { fields: [id: number, value: Value | undefined][] };
type I32 = { i32: number };
type I64 = { i64: number };

export const i32 = (value: number): I32 => ({ i32: value });
export const i64 = (value: number): I64 => ({ i64: value });
export const struct = (...fields: [id: number, value: Value | undefined][]): Struct => ({ fields });

const TRUE = 1;
const FALSE = 2;
const INT32 = 5;
const INT64 = 6;
const BINARY = 8;
const LIST = 9;
const STRUCT = 12;

export function encodeStruct(value: Struct): Buffer {
  const out: number[] = [];
  writeStruct(out, value);
  return Buffer.from(out);
}

/** A varint of any whole number up to 2^53. */
export function writeVarint(out: number[], value: number): void {
  let rest = value;
  while (rest >= 128) {
    out.push((rest % 128) | 128);
    rest = Math.floor(rest / 128);
  }
  out.push(rest);
}

export function writeZigzag(out: number[], value: number): void {
  // twice a number beyond 2^52 would be rounded: its first seven bits come with the sign
  const half = value < 0 ? -value - 1 : value;
  const first = (half % 64) * 2 + (value < 0 ? 1 : 0);
  if (half < 64) out.push(first);
  else {
    out.push(first | 128);
    writeVarint(out, Math.floor(half / 64));
  }
}

function writeStruct(out: number[], value: Struct): void {
  let last = 0;
  for (const [id, field] of value.fields) {
    if (field === undefined) continue;
    const type = typeOf(field);
    if (id - last > 15) {
      out.push(type);
      writeZigzag(out, id);
    } else out.push(((id - last) << 4) | type);
    last = id;
    if (typeof field !== 'boolean') writeValue(out, field);
  }
  out.push(0);
}

function typeOf(value: Value): number {
  if (typeof value === 'boolean') return value ? TRUE : FALSE;
  if (typeof value === 'string' || value instanceof Uint8Array) return BINARY;
  if (Array.isArray(value)) return LIST;
  if ('fields' in value) return STRUCT;
  return 'i32' in value ? INT32 : INT64;
}

function writeValue(out: number[], value: Value): void {
  if (typeof value === 'string' || value instanceof Uint8Array) {
    const bytes = typeof value === 'string' ? Buffer.from(value) : value;
    writeVarint(out, bytes.length);
    for (const byte of bytes) out.push(byte);
  } else if (Array.isArray(value)) {
    const type = value.length === 0 ? STRUCT : typeOf(value[0]!);
    if (value.length < 15) out.push((value.length << 4) | type);
    else {
      out.push(0xf0 | type);
      writeVarint(out, value.length);
    }
    for (const item of value) writeValue(out, item);
  } else if (typeof value === 'object') {
    if ('fields' in value) writeStruct(out, value);
    else writeZigzag(out, 'i32' in value ? value.i32 : value.i64);
  }
}

/** What comes back: fields by id; numbers, booleans, bytes, lists and structs. */
export type Read = number | boolean | Buffer | Read[] | ReadStruct;
export interface ReadStruct {
  [id: number]: Read;
}

/** Fields of a struct (or of the structs in a list) that somebody needs, by id; 'at': only where it begins. */
export interface Needed {
  [id: number]: true | 'at' | Needed;
}

/** Parquet needs five. */
const DEEPEST = 32;

/** Reads structs one after another; `at` is where the next one begins. */
export class ThriftReader {
  readonly bytes: Buffer;
  at: number;
  private depth = 0;

  constructor(bytes: Buffer, at = 0) {
    this.bytes = bytes;
    this.at = at;
  }

  /** `needed`: the other fields are passed over, which takes a fraction of the time. */
  struct(needed?: Needed): ReadStruct {
    const fieldsById: ReadStruct = {};
    let last = 0;
    for (;;) {
      const byte = this.byte();
      if (byte === 0) return fieldsById;
      const id = byte >> 4 === 0 ? this.zigzag() : last + (byte >> 4);
      last = id;
      const inner = needed === undefined ? true : needed[id];
      if (inner === true) fieldsById[id] = this.value(byte & 15);
      else if (inner === undefined || inner === 'at') {
        if (inner === 'at') fieldsById[id] = this.at;
        this.pass(byte & 15);
      } else fieldsById[id] = this.value(byte & 15, inner);
    }
  }

  /** Goes to the end of a value. */
  private pass(type: number): void {
    if (type === TRUE || type === FALSE) return;
    if (type === BINARY) {
      const length = this.varint();
      this.at += length;
      if (this.at > this.bytes.length) throw new Error('it ends in the middle');
    } else if (type === LIST) {
      const head = this.byte();
      const count = head >> 4 === 15 ? this.varint() : head >> 4;
      if (count > this.bytes.length - this.at) throw new Error('it ends in the middle');
      for (let i = 0; i < count; i++) this.pass(head & 15);
    } else if (type === STRUCT) {
      this.nested(() => {
        for (let byte = this.byte(); byte !== 0; byte = this.byte()) {
          if (byte >> 4 === 0) this.varint();
          this.pass(byte & 15);
        }
      });
    } else this.value(type);
  }

  private nested<T>(read: () => T): T {
    if (++this.depth > DEEPEST) throw new Error('it is nested too deep');
    const value = read();
    this.depth--;
    return value;
  }

  varint(): number {
    let value = 0;
    let scale = 1;
    for (;;) {
      const byte = this.byte();
      value += (byte & 127) * scale;
      if (byte < 128) return value;
      scale *= 128;
    }
  }

  zigzag(): number {
    const value = this.varint();
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }

  private byte(): number {
    if (this.at >= this.bytes.length) throw new Error('it ends in the middle');
    return this.bytes[this.at++]!;
  }

  private value(type: number, needed?: Needed): Read {
    if (type === TRUE || type === FALSE) return type === TRUE;
    if (type === 3) return this.byte();
    if (type === 4 || type === INT32 || type === INT64) return this.zigzag();
    if (type === 7) {
      this.at += 8;
      return this.bytes.readDoubleLE(this.at - 8);
    }
    if (type === BINARY) {
      const length = this.varint();
      this.at += length;
      if (this.at > this.bytes.length) throw new Error('it ends in the middle');
      return this.bytes.subarray(this.at - length, this.at);
    }
    if (type === LIST) {
      const head = this.byte();
      const count = head >> 4 === 15 ? this.varint() : head >> 4;
      // an item has a byte at least
      if (count > this.bytes.length - this.at) throw new Error('it ends in the middle');
      const items: Read[] = [];
      for (let i = 0; i < count; i++) items.push(this.value(head & 15, needed));
      return items;
    }
    if (type === STRUCT) return this.nested(() => this.struct(needed));
    throw new Error(`it holds something unknown (thrift type ${type})`);
  }
}
