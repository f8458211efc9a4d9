/** MessagePack, as far as Dask speaks it: maps have texts as keys, and 64-bit integers beyond 2^53 are not told apart. */

export type Packed = null | boolean | number | string | Uint8Array | Packed[] | { [key: string]: Packed };

/** Bytes that are no MessagePack. */
export class NotPacked extends Error {}

export function unpack(bytes: Uint8Array): Packed {
  const reader = new Reader(bytes);
  return reader.value(0);
}

/** Nobody nests deeper; what does would end the stack. */
const DEEPEST = 200;

class Reader {
  private readonly bytes: Uint8Array;
  private readonly view: DataView;
  private at = 0;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  value(depth: number): Packed {
    if (depth > DEEPEST) throw new NotPacked('nested too deeply');
    const tag = this.view.getUint8(this.skip(1));
    if (tag < 0x80) return tag;
    if (tag >= 0xe0) return tag - 256;
    if (tag < 0x90) return this.map(tag & 15, depth);
    if (tag < 0xa0) return this.list(tag & 15, depth);
    if (tag < 0xc0) return this.text(tag & 31);
    const { view } = this;
    switch (tag) {
      case 0xc0:
        return null;
      case 0xc2:
        return false;
      case 0xc3:
        return true;
      case 0xc4:
        return this.raw(view.getUint8(this.skip(1)));
      case 0xc5:
        return this.raw(view.getUint16(this.skip(2)));
      case 0xc6:
        return this.raw(view.getUint32(this.skip(4)));
      case 0xc7:
        return this.extension(view.getUint8(this.skip(1)));
      case 0xc8:
        return this.extension(view.getUint16(this.skip(2)));
      case 0xc9:
        return this.extension(view.getUint32(this.skip(4)));
      case 0xca:
        return view.getFloat32(this.skip(4));
      case 0xcb:
        return view.getFloat64(this.skip(8));
      case 0xcc:
        return view.getUint8(this.skip(1));
      case 0xcd:
        return view.getUint16(this.skip(2));
      case 0xce:
        return view.getUint32(this.skip(4));
      case 0xcf:
        return Number(view.getBigUint64(this.skip(8)));
      case 0xd0:
        return view.getInt8(this.skip(1));
      case 0xd1:
        return view.getInt16(this.skip(2));
      case 0xd2:
        return view.getInt32(this.skip(4));
      case 0xd3:
        return Number(view.getBigInt64(this.skip(8)));
      case 0xd4:
      case 0xd5:
      case 0xd6:
      case 0xd7:
      case 0xd8:
        return this.extension(1 << (tag - 0xd4));
      case 0xd9:
        return this.text(view.getUint8(this.skip(1)));
      case 0xda:
        return this.text(view.getUint16(this.skip(2)));
      case 0xdb:
        return this.text(view.getUint32(this.skip(4)));
      case 0xdc:
        return this.list(view.getUint16(this.skip(2)), depth);
      case 0xdd:
        return this.list(view.getUint32(this.skip(4)), depth);
      case 0xde:
        return this.map(view.getUint16(this.skip(2)), depth);
      case 0xdf:
        return this.map(view.getUint32(this.skip(4)), depth);
      default:
        throw new NotPacked(`byte ${tag} begins no value`);
    }
  }

  /** Goes on by so many bytes; returns where it was. */
  private skip(length: number): number {
    const at = this.at;
    if (at + length > this.bytes.length) throw new NotPacked('it ends in the middle');
    this.at = at + length;
    return at;
  }

  private raw(length: number): Uint8Array {
    const at = this.skip(length);
    return this.bytes.subarray(at, at + length);
  }

  private extension(length: number): Uint8Array {
    this.skip(1);
    return this.raw(length);
  }

  private text(length: number): string {
    const at = this.skip(length);
    return Buffer.from(this.bytes.buffer, this.bytes.byteOffset + at, length).toString('utf8');
  }

  private list(length: number, depth: number): Packed[] {
    if (length > this.bytes.length - this.at) throw new NotPacked('it ends in the middle');
    const items: Packed[] = [];
    for (let i = 0; i < length; i++) items.push(this.value(depth + 1));
    return items;
  }

  private map(length: number, depth: number): { [key: string]: Packed } {
    const entries: { [key: string]: Packed } = Object.create(null);
    for (let i = 0; i < length; i++) {
      const key = this.value(depth + 1);
      entries[keyText(key)] = this.value(depth + 1);
    }
    return entries;
  }
}

/** A key of Dask as one text: a tuple as Python prints it, without the spaces behind its commas. */
export function keyText(key: Packed): string {
  if (typeof key === 'string') return key.startsWith('(') ? tighten(key) : key;
  if (Array.isArray(key)) {
    const items = key.map((item) => (typeof item === 'string' ? quoted(item) : keyText(item)));
    return `(${items.join(',')}${items.length === 1 ? ',' : ''})`;
  }
  if (key instanceof Uint8Array) return Buffer.from(key).toString('utf8');
  if (key === null) return 'None';
  if (key === true) return 'True';
  if (key === false) return 'False';
  return typeof key === 'object' ? JSON.stringify(key) : String(key);
}

const quoted = (text: string): string =>
  text.includes("'") && !text.includes('"')
    ? `"${text}"`
    : `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'").replaceAll('\n', '\\n')}'`;

/** Takes out the spaces behind commas that are not inside a string. */
function tighten(key: string): string {
  if (!key.includes(', ')) return key;
  if (!/[\\"]/.test(key) && !/'[^']*, [^']*'(?=[,)])/.test(key)) return key.replaceAll(', ', ',');
  let text = '';
  let quote = '';
  for (let i = 0; i < key.length; i++) {
    const c = key[i]!;
    text += c;
    if (quote !== '') {
      if (c === '\\') text += key[++i] ?? '';
      else if (c === quote) quote = '';
    } else if (c === "'" || c === '"') quote = c;
    else if (c === ',' && key[i + 1] === ' ') i++;
  }
  return text;
}

/** What the monitor sends is small: it is put together from parts. */
export function pack(value: Packed): Buffer {
  const chunks: Buffer[] = [];
  put(value, chunks);
  return Buffer.concat(chunks);
}

function put(value: Packed, chunks: Buffer[]): void {
  if (value === null) chunks.push(Buffer.of(0xc0));
  else if (typeof value === 'boolean') chunks.push(Buffer.of(value ? 0xc3 : 0xc2));
  else if (typeof value === 'number') chunks.push(numberBytes(value));
  else if (typeof value === 'string') {
    const bytes = Buffer.from(value);
    chunks.push(head(0xdb, bytes.length), bytes);
  } else if (value instanceof Uint8Array) chunks.push(head(0xc6, value.length), Buffer.from(value));
  else if (Array.isArray(value)) {
    chunks.push(head(0xdd, value.length));
    for (const item of value) put(item, chunks);
  } else {
    const entries = Object.entries(value);
    chunks.push(head(0xdf, entries.length));
    for (const [key, item] of entries) {
      put(key, chunks);
      put(item, chunks);
    }
  }
}

function head(tag: number, length: number): Buffer {
  const bytes = Buffer.alloc(5);
  bytes[0] = tag;
  bytes.writeUInt32BE(length, 1);
  return bytes;
}

function numberBytes(value: number): Buffer {
  const bytes = Buffer.alloc(9);
  if (Number.isSafeInteger(value)) {
    bytes[0] = 0xd3;
    bytes.writeBigInt64BE(BigInt(value), 1);
  } else {
    bytes[0] = 0xcb;
    bytes.writeDoubleBE(value, 1);
  }
  return bytes;
}
