/** PostgreSQL counts time from 2000, not from 1970; microseconds. */
export const EPOCH_2000 = 946_684_800_000_000;

const SIGNATURE = Buffer.from('PGCOPY\n\xff\r\n\0', 'latin1');
const HEADER = 8;
const WORD = 2 ** 32;
const MOST = 1 << 18;

/**
 * Rows in the form that COPY … (FORMAT binary) reads. NaN, '' and undefined become NULL.
 *
 *     writer.row(2); writer.bigint(17); writer.text('gcc');
 */
export interface CopyWriter {
  row(fields: number): void;
  integer(value: number): void;
  bigint(value: number): void;
  double(value: number): void;
  /** One of each column. */
  doubles(columns: readonly Float64Array[], row: number): void;
  /** Epoch microseconds. */
  time(value: number): void;
  /** True, or NULL. */
  truth(value: boolean): void;
  text(value: string): void;
  /** Text in bytes. */
  bytes(value: Uint8Array): void;
  /** Text that is there even if it is empty. */
  requiredText(value: string): void;
  /** A JSON text. */
  json(value: string | undefined): void;
  /** What has been written since the last time, when that is worth sending. */
  chunk(): Buffer | undefined;
  /** The rest. */
  end(): Buffer;
}

export function copyWriter(): CopyWriter {
  let buffer = Buffer.allocUnsafe(MOST + 65_536);
  let view = new DataView(buffer.buffer, buffer.byteOffset, buffer.length);
  let at = 0;
  SIGNATURE.copy(buffer);
  at = SIGNATURE.length + HEADER;
  buffer.fill(0, SIGNATURE.length, at);

  const room = (bytes: number): void => {
    if (at + bytes <= buffer.length) return;
    const larger = Buffer.allocUnsafe(Math.max(2 * buffer.length, at + bytes));
    buffer.copy(larger, 0, 0, at);
    buffer = larger;
    view = new DataView(buffer.buffer, buffer.byteOffset, buffer.length);
  };
  const missing = (): void => {
    view.setInt32(at, -1);
    at += 4;
  };
  const long = (value: number): void => {
    view.setInt32(at, 8);
    const high = Math.floor(value / WORD);
    view.setInt32(at + 4, high);
    view.setUint32(at + 8, value - high * WORD);
    at += 12;
  };
  const utf8 = (value: string, lead: number): void => {
    // three bytes for each unit of a string are enough for any text
    room(5 + value.length * 3);
    let to = at + 4;
    if (lead > 0) buffer[to++] = lead;
    to += buffer.write(value, to);
    view.setInt32(at, to - at - 4);
    at = to;
  };
  return {
    row(fields) {
      // the fields that are not text take at most so much
      room(2 + fields * 12);
      view.setInt16(at, fields);
      at += 2;
    },
    integer(value) {
      room(8);
      if (Number.isNaN(value)) return missing();
      view.setInt32(at, 4);
      view.setInt32(at + 4, value);
      at += 8;
    },
    bigint(value) {
      room(12);
      if (Number.isFinite(value)) long(Math.round(value));
      else missing();
    },
    double(value) {
      room(12);
      if (Number.isNaN(value)) return missing();
      view.setInt32(at, 8);
      view.setFloat64(at + 4, value);
      at += 12;
    },
    doubles(columns, row) {
      room(columns.length * 12);
      for (let c = 0; c < columns.length; c++) {
        const value = columns[c]![row]!;
        if (Number.isNaN(value)) missing();
        else {
          view.setInt32(at, 8);
          view.setFloat64(at + 4, value);
          at += 12;
        }
      }
    },
    time(value) {
      room(12);
      if (Number.isFinite(value)) long(Math.round(value) - EPOCH_2000);
      else missing();
    },
    truth(value) {
      room(5);
      if (!value) return missing();
      view.setInt32(at, 1);
      buffer[at + 4] = 1;
      at += 5;
    },
    text(value) {
      room(4);
      if (value === '') missing();
      else utf8(storable(value), 0);
    },
    bytes(value) {
      room(4 + value.length);
      view.setInt32(at, value.length);
      buffer.set(value, at + 4);
      at += 4 + value.length;
    },
    requiredText: (value) => utf8(storable(value), 0),
    json(value) {
      room(4);
      if (value === undefined) missing();
      else utf8(value, 1);
    },
    chunk() {
      if (at < MOST) return undefined;
      const full = buffer.subarray(0, at);
      buffer = Buffer.allocUnsafe(MOST + 65_536);
      view = new DataView(buffer.buffer, buffer.byteOffset, buffer.length);
      at = 0;
      return full;
    },
    end() {
      room(2);
      view.setInt16(at, -1);
      at += 2;
      return buffer.subarray(0, at);
    },
  };
}

/** PostgreSQL's text has no place for NUL and for halves of characters. */
export function storable(text: string): string {
  const whole = text.isWellFormed() ? text : text.toWellFormed();
  return whole.includes('\0') ? whole.replaceAll('\0', '\\x00') : whole;
}

/** A value as JSON that PostgreSQL takes. */
export function storableJson(value: unknown): string {
  return JSON.stringify(value, (_, each) => (typeof each === 'string' ? storable(each) : each));
}
