import * as fs from 'node:fs';
import { splitLine } from '../../base/csv.ts';
import { NotPlain, openSized, readPlain, tooLarge } from '../../base/plain-file.ts';
import { type Sampling, sampling } from '../../base/sampling.ts';
import { MOST_PART_BYTES, unpackFile } from '../sealed/unpack.ts';
import type { Rows } from './rows.ts';
import type { TextPool } from './text-pool.ts';

/** What of a file could not be read. */
export interface Damage {
  file: string;
  /** Bytes of an unfinished last line. */
  torn_bytes: number;
  /** Lines that are no rows of this table, and where the first few are; no `line` once rows are sorted. */
  bad_lines: number;
  first_bad: { line?: number; why: string }[];
  /** Why nothing at all, or nothing more, could be read from the file. */
  unreadable?: string;
  /** It is no ordinary file, or too large to be a part: it is left alone. */
  not_plain?: true;
  /** The header is lost, and the columns were taken from agent.json. */
  lost_header?: true;
  /** Columns of a sealed file that could not be read; the others were. */
  lost_columns?: string[];
}

/** What becomes of the cells under a header's name. */
export type CellUse = 'time' | 'number' | 'text';

export interface CsvOptions {
  /** Called with the header; `sample` has the first lines' cells. How to take each cell. Undefined: not a file of this table. */
  layout(header: readonly string[], sample: () => string[][]): readonly CellUse[] | undefined;
  /** The header that most files have, and its names. */
  usual?: { line: string; names: readonly string[] };
  /** The header as it should be: for a file that lost it, if its rows have as many cells. */
  header?: readonly string[];
  /** Whether the cells of a column are stored; they are checked in any case, so that the same rows come out. */
  wanted(name: string): boolean;
  /** Receives the bytes of every line that was not taken, and where in the (decompressed) part they are. */
  reject?(bytes: Uint8Array, offset: number): void;
}

const CHUNK = 8 << 20;
/** Room for small files: a report of many recordings reads very many of them. */
const ROOM = 64 << 10;
let room: Buffer | undefined;
const smallRoom = (): Buffer => {
  room ??= Buffer.allocUnsafeSlow(ROOM);
  return room;
};
/** An open quote that runs on for longer than any row is damage, not a torn row. */
const LONGEST_ROW = 1 << 20;
const POWERS = Array.from({ length: 23 }, (_, i) => 10 ** i);
const EXACT = 2 ** 53;
const NUMBER = /^-?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;
const COMMA = 44;
const NEWLINE = 10;
const QUOTE = 34;
const NO_RECORD = -1;
const UNFINISHED = -2;
/** A call of C pays for so many bytes; when it did few rows, so many are read here before the next. */
const NATIVE_BYTES = 4096;
const FEW_ROWS = 16;
const ROWS_BETWEEN = 64;
/** As in native/node-sampling.rows.c: what is done with a cell, and places in `state`. */
export const CELL = { skipNumber: 0, number: 1, skipText: 2, text: 3 } as const;
export const ROW_STATE = { from: 0, end: 1, row: 2, capacity: 3 } as const;

/** Appends the rows of a live part (`.csv` or `.csv.zst`) to `rows`. Damage is described, never thrown. */
export function readCsv(file: string, rows: Rows, options: CsvOptions): Damage {
  const damage: Damage = { file, torn_bytes: 0, bad_lines: 0, first_bad: [] };
  const parser = new Parser(rows, options, damage);
  try {
    if (file.endsWith('.zst')) {
      const { bytes, unreadable } = unpackFile(readPlain(file, MOST_PART_BYTES));
      parser.take(bytes, bytes.length, true);
      if (unreadable !== undefined) damage.unreadable = unreadable;
    } else readText(file, parser, options.reject === undefined ? smallRoom() : undefined);
  } catch (error) {
    if (!(error instanceof NotPlain)) throw error;
    damage.unreadable = error.message;
    damage.not_plain = true;
  }
  return damage;
}

/** The same of a part that is in memory. `native`: null reads without C. */
export function readCsvBytes(bytes: Buffer, rows: Rows, options: CsvOptions, native = sampling()): Damage {
  const damage: Damage = { file: '', torn_bytes: 0, bad_lines: 0, first_bad: [] };
  new Parser(rows, options, damage, native).take(bytes, bytes.length, true);
  return damage;
}

/** `room`: for a small file, which nobody keeps bytes of. */
function readText(file: string, parser: Parser, room?: Buffer): void {
  const { fd, size } = openSized(file, fs.constants.O_RDONLY, true);
  try {
    if (size > MOST_PART_BYTES) throw tooLarge(size, MOST_PART_BYTES);
    let filled = 0;
    if (room !== undefined && size <= room.length) {
      for (let got = 1; got > 0 && filled < size; filled += got)
        got = fs.readSync(fd, room, filled, size - filled, null);
      parser.take(room, filled, true);
      return;
    }
    let buffer = Buffer.allocUnsafe(Math.min(CHUNK, size + 1));
    for (;;) {
      const got = fs.readSync(fd, buffer, filled, buffer.length - filled, null);
      filled += got;
      if (got > 0 && filled < buffer.length) continue;
      const last = got === 0;
      const used = parser.take(buffer, filled, last);
      if (last) return;
      buffer.copyWithin(0, used, filled);
      filled -= used;
      if (filled > buffer.length / 2) {
        const grown = Buffer.allocUnsafe(buffer.length * 2);
        buffer.copy(grown, 0, 0, filled);
        buffer = grown;
      }
    }
  } finally {
    fs.closeSync(fd);
  }
}

/** How many lines end in bytes[from, end). */
function linesIn(bytes: Buffer, from: number, end: number): number {
  let lines = 0;
  for (let at = bytes.indexOf(NEWLINE, from); at >= 0 && at < end; at = bytes.indexOf(NEWLINE, at + 1)) lines++;
  return lines;
}

/** No header has control characters, or bytes that are no UTF-8. */
const NO_TEXT = /[\x00-\x08\x0e-\x1f\x7f-\x9f\ufffd]/;

class Parser {
  private readonly rows: Rows;
  private readonly options: CsvOptions;
  private readonly damage: Damage;
  private line = 0;
  /** Where in the part the current chunk begins. */
  private base = 0;
  private begun = false;
  private foreign = false;
  private names: readonly string[] = [];
  private scratch = Buffer.alloc(0);

  private readonly native: Sampling | null;

  constructor(rows: Rows, options: CsvOptions, damage: Damage, native = sampling()) {
    this.native = native;
    this.rows = rows;
    this.options = options;
    this.damage = damage;
  }

  /** Parses the whole records among the first `filled` bytes; returns how many bytes are done with. */
  take(bytes: Buffer, filled: number, last: boolean): number {
    const used = this.chunk(bytes, filled, last);
    this.base += used;
    return used;
  }

  private chunk(bytes: Buffer, filled: number, last: boolean): number {
    let at = 0;
    const end = filled === 0 ? 0 : bytes.lastIndexOf(NEWLINE, filled - 1) + 1;
    if (!this.begun) {
      if (end === 0) {
        if (last && filled === 0) this.damage.unreadable = 'it is empty';
        if (last) this.torn(bytes, 0, filled);
        return last ? filled : 0;
      }
      const header = bytes.indexOf(NEWLINE);
      // before there are columns: they are then made once, as long as they have to be
      this.rows.reserve(linesIn(bytes, header + 1, end));
      at = this.begin(bytes, header, filled);
    } else if (!this.foreign) this.rows.reserve(linesIn(bytes, 0, end));
    if (this.foreign) {
      this.options.reject?.(bytes.subarray(0, filled), this.base);
      return filled;
    }
    if (end > at) at = this.records(bytes, at, end, last);
    if (last) {
      this.torn(bytes, at, filled);
      return filled;
    }
    return at;
  }

  private torn(bytes: Buffer, from: number, to: number): void {
    if (to <= from) return;
    this.damage.torn_bytes += to - from;
    this.options.reject?.(bytes.subarray(from, to), this.base + from);
  }

  /** Takes the header; returns where the rows begin. */
  private begin(bytes: Buffer, end: number, filled: number): number {
    this.begun = true;
    const { header, usual } = this.options;
    const text = bytes.toString('utf8', 0, end);
    this.names = text === usual?.line ? usual.names : splitLine(text);
    const lost = header !== undefined && header.length === this.names.length && /^\d+$/.test(this.names[0]!);
    if (lost) {
      this.damage.lost_header = true;
      this.names = header;
    } else this.line = 1;
    const uses = this.options.layout(this.names, () => {
      const next = bytes.toString('utf8', end + 1, Math.min(filled, end + 1 + 16384)).split('\n');
      return next.slice(0, 20).map(splitLine);
    });
    if (uses === undefined) {
      this.foreign = true;
      const line = this.names.join(',').slice(0, 80);
      this.damage.unreadable = `its first line is not the header of this table: ${NO_TEXT.test(line) ? 'it is binary data' : line}`;
      return end + 1;
    }
    this.isText = new Uint8Array(uses.length);
    for (let i = 0; i < uses.length; i++) {
      if (uses[i] === 'text') this.isText[i] = 1;
      if (!this.options.wanted(this.names[i]!)) continue;
      if (uses[i] === 'number') this.rows.addNumber(this.names[i]!);
      else if (uses[i] === 'text') this.rows.addText(this.names[i]!);
    }
    return lost ? 0 : end + 1;
  }

  /** Where the cells of the columns go; undefined: nobody wants them. */
  private isText = new Uint8Array(0);
  private readonly numbers: (Float64Array | undefined)[] = [];
  private readonly codes: (Uint32Array | undefined)[] = [];
  private readonly pools: (TextPool | undefined)[] = [];

  private bind(): void {
    const { rows, names, isText, numbers, codes, pools } = this;
    for (let i = 0; i < names.length; i++) {
      const text = isText[i] === 1 ? rows.texts.get(names[i]!) : undefined;
      numbers[i] = i === 0 ? rows.time : isText[i] === 1 ? undefined : rows.numbers.get(names[i]!);
      codes[i] = text?.codes;
      pools[i] = text?.pool;
    }
  }

  /** The records in bytes[from, end), which ends with a newline; returns where the first unfinished record begins. */
  private records(bytes: Buffer, from: number, end: number, last: boolean): number {
    const { rows } = this;
    this.bind();
    const native = end - from < NATIVE_BYTES ? null : this.native;
    let p = from;
    let row = rows.length;
    let nextNative = row;
    while (p < end) {
      if (native !== null && row >= nextNative) {
        const { at, rows: done } = this.plainRows(native, bytes, p, end, row);
        if (done < FEW_ROWS) nextNative = row + done + ROWS_BETWEEN;
        p = at;
        row += done;
        this.line += done;
        if (p >= end) break;
      }
      const start = p;
      if (row >= rows.capacity) {
        rows.length = row;
        rows.reserve(1);
        this.bind();
      }
      p = this.record(bytes, start, end, row);
      if (p > start) {
        row++;
        this.line += 1 + this.embedded;
        continue;
      }
      rows.length = row;
      rows.clearRow();
      if (p === UNFINISHED) {
        // it goes on in the next chunk, or the part ends in the middle of it
        if (!last || end - start <= LONGEST_ROW) return start;
        this.why = 'a quoted text without an end';
      }
      p = bytes.indexOf(NEWLINE, start) + 1;
      // a crash can leave zero bytes where data should be: they are not part of the line behind them
      let zeros = start;
      while (bytes[zeros] === 0) zeros++;
      if (zeros > start) {
        p = zeros;
        this.why = 'zero bytes';
      } else this.line++;
      this.bad(this.why, bytes, start, p);
    }
    rows.length = row;
    return p;
  }

  private readonly nativeState = new Float64Array(4);

  /** Leaves rows to C until one is not plain: where that is, and how many it has read. */
  private plainRows(
    native: Sampling,
    bytes: Buffer,
    from: number,
    end: number,
    row: number,
  ): { at: number; rows: number } {
    const { isText, numbers, codes, pools, nativeState: state } = this;
    const arrays: Parameters<Sampling['readRows']>[3][number][] = [];
    const kinds = new Uint8Array(isText.length);
    for (let c = 0; c < kinds.length; c++) {
      const [number, text, pool] = [numbers[c], codes[c], pools[c]];
      if (isText[c] === 1) kinds[c] = text === undefined ? CELL.skipText : CELL.text;
      else kinds[c] = number === undefined ? CELL.skipNumber : CELL.number;
      if (number !== undefined) arrays.push(number);
      else if (text !== undefined) arrays.push(text, ...pool!.lookUp);
    }
    state[ROW_STATE.from] = from;
    state[ROW_STATE.end] = end;
    state[ROW_STATE.row] = row;
    state[ROW_STATE.capacity] = this.rows.capacity;
    if (native.readRows(bytes, state, kinds, arrays) < 0) return { at: from, rows: 0 };
    return { at: state[ROW_STATE.from]!, rows: state[ROW_STATE.row]! - row };
  }

  private why = '';
  private embedded = 0;

  /** Puts the record at `from` into a row. Returns where the next one begins, UNFINISHED, or NO_RECORD and `why`. */
  private record(bytes: Buffer, from: number, end: number, row: number): number {
    const { isText, numbers, codes, pools } = this;
    const cells = isText.length;
    let p = from;
    this.embedded = 0;
    for (let c = 0; c < cells; c++) {
      let ch = bytes[p]!;
      if (isText[c] === 1) {
        const pool = pools[c];
        if (ch !== QUOTE) {
          const word = p;
          while (ch !== COMMA && ch !== NEWLINE) ch = bytes[++p]!;
          if (pool !== undefined) codes[c]![row] = p === word ? 0 : pool.code(bytes, word, p);
        } else {
          p = this.unquote(bytes, p + 1, end);
          if (p < 0) return UNFINISHED;
          this.embedded += this.quotedLines;
          if (pool !== undefined) codes[c]![row] = pool.code(this.scratch, 0, this.quotedLength);
          ch = bytes[p]!;
          if (ch !== COMMA && ch !== NEWLINE) return this.noRecord('text behind a closing quote');
        }
      } else {
        let value = Number.NaN;
        if (ch !== COMMA && ch !== NEWLINE) {
          const word = p;
          const negative = ch === 45;
          if (negative) ch = bytes[++p]!;
          const digits = p;
          // whole numbers of 32 bits are added up faster, and most numbers are no longer
          const short = p + 9;
          let start = 0;
          while (ch >= 48 && ch <= 57 && p < short) {
            start = (Math.imul(start, 10) + ch - 48) | 0;
            ch = bytes[++p]!;
          }
          value = start;
          while (ch >= 48 && ch <= 57) {
            value = value * 10 + (ch - 48);
            ch = bytes[++p]!;
          }
          let count = p - digits;
          let decimalPlaces = 0;
          if (ch === 46) {
            const point = p;
            ch = bytes[++p]!;
            while (ch >= 48 && ch <= 57) {
              value = value * 10 + (ch - 48);
              ch = bytes[++p]!;
            }
            decimalPlaces = p - point - 1;
            count += decimalPlaces;
          }
          if ((ch === COMMA || ch === NEWLINE) && count > 0 && count < 17 && value < EXACT) {
            // both exact in a double: the quotient is the nearest double, as strtod would give
            if (decimalPlaces > 0) value /= POWERS[decimalPlaces]!;
            if (negative) value = -value;
          } else {
            while (ch !== COMMA && ch !== NEWLINE) ch = bytes[++p]!;
            const cell = bytes.toString('latin1', word, p);
            value = NUMBER.test(cell) ? Number(cell) : Number.NaN;
            if (!Number.isFinite(value)) return this.noRecord(`"${cell.slice(0, 20)}" is no number`);
          }
        }
        if (c === 0 && !(value >= 0)) return this.noRecord('no time');
        const column = numbers[c];
        if (column !== undefined) column[row] = value;
      }
      if (c < cells - 1) {
        if (ch !== COMMA) return this.noRecord(`${c + 1} cells instead of ${cells}`);
      } else if (ch !== NEWLINE) return this.noRecord(`more than ${cells} cells`);
      p++;
    }
    return p;
  }

  private noRecord(why: string): number {
    this.why = why;
    return NO_RECORD;
  }

  private quotedLength = 0;
  private quotedLines = 0;

  /** Copies a quoted text to `scratch`; returns where its cell ends, or −1 when it does not. */
  private unquote(bytes: Buffer, from: number, end: number): number {
    let length = 0;
    let lines = 0;
    for (let p = from; p < end; p++) {
      const ch = bytes[p]!;
      if (ch === QUOTE) {
        if (bytes[p + 1] !== QUOTE || p + 1 >= end) {
          if (p + 1 >= end) return -1;
          this.quotedLength = length;
          this.quotedLines = lines;
          return p + 1;
        }
        p++;
      } else if (ch === NEWLINE) lines++;
      if (length === this.scratch.length) {
        const grown = Buffer.alloc(Math.max(256, length * 2));
        this.scratch.copy(grown, 0, 0, length);
        this.scratch = grown;
      }
      this.scratch[length++] = ch;
    }
    return -1;
  }

  private bad(why: string, bytes: Buffer, from: number, to: number): void {
    this.damage.bad_lines++;
    if (this.damage.first_bad.length < 5) this.damage.first_bad.push({ line: this.line, why });
    this.options.reject?.(bytes.subarray(from, to), this.base + from);
  }
}
