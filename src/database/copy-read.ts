import { EPOCH_2000 } from './copy-write.ts';

const SIGNATURE = 11;
const WORD = 2 ** 32;

/** Reads what COPY … TO STDOUT (FORMAT binary) gives: rows one after the other, fields from left to right. NULL is NaN or ''. */
export interface CopyReader {
  /** Goes to the next row; false: there is none. */
  next(): boolean;
  integer(): number;
  bigint(): number;
  double(): number;
  /** Epoch microseconds. */
  time(): number;
  text(): string;
  /** A JSON text. */
  json(): string | undefined;
}

/** How many rows there are. */
export function copyRows(bytes: Buffer): number {
  let at = SIGNATURE + 8 + bytes.readInt32BE(SIGNATURE + 4);
  for (let rows = 0; ; rows++) {
    const fields = bytes.readInt16BE(at);
    if (fields < 0) return rows;
    at += 2;
    for (let field = 0; field < fields; field++) at += 4 + Math.max(0, bytes.readInt32BE(at));
  }
}

export function copyReader(bytes: Buffer): CopyReader {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  let at = SIGNATURE + 8 + view.getInt32(SIGNATURE + 4);
  /** Of the field at `at`; −1: NULL. */
  const length = (): number => {
    const value = view.getInt32(at);
    at += 4;
    return value;
  };
  const long = (): number => {
    if (length() < 0) return Number.NaN;
    const value = view.getInt32(at) * WORD + view.getUint32(at + 4);
    at += 8;
    return value;
  };
  const utf8 = (size: number): string => {
    const text = bytes.toString('utf8', at, at + size);
    at += size;
    return text;
  };
  return {
    next() {
      const fields = view.getInt16(at);
      at += 2;
      return fields >= 0;
    },
    integer() {
      if (length() < 0) return Number.NaN;
      at += 4;
      return view.getInt32(at - 4);
    },
    bigint: long,
    double() {
      if (length() < 0) return Number.NaN;
      at += 8;
      return view.getFloat64(at - 8);
    },
    time: () => long() + EPOCH_2000,
    text() {
      const size = length();
      return size < 0 ? '' : utf8(size);
    },
    json() {
      const size = length();
      if (size < 0) return undefined;
      // the first byte is the version of the form
      at += 1;
      return utf8(size - 1);
    },
  };
}
