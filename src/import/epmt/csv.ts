import { isUtf8 } from 'node:buffer';
import { type Sampling, sampling } from '../../base/sampling.ts';
import type { DataFile } from './archive.ts';
import { repaired } from './cell-text.ts';
import { corrupted, lineAt, lineCount, textBytes, usableHeader } from './lines.ts';
import { NEEDED, type ProcessRows, TEXTS, type Texts } from './rows.ts';

const COMMA = 44;
const NEWLINE = 10;
const RETURN = 13;
const BACKSLASH = 92;
/** Digits of whole numbers that are below 2^31, whatever they are. */
const SMALL_DIGITS = 9;
/** More than any kernel has numbers for. */
const MOST_THREADS = 2 ** 32;
/** Where C did few rows, so many are read here before it is asked again. */
const FEW_ROWS = 16;
const ROWS_BETWEEN = 64;
/** As in native/node-sampling.cells.c: what a column is, and places in `state`. */
export const CELL = { number: 0, text: 1, time: 2, count: 3, pid: 4, moment: 5, tid: 6, counted: 16 } as const;
export const CELL_STATE = {
  from: 0,
  line: 1,
  threads: 2,
  processes: 3,
  expected: 4,
  empty: 5,
  file_number: 6,
  full: 7,
} as const;

/**
 * Reads a CSV file of papiex, whatever its columns: no quotes, a backslash escapes. A process is a row, and each further
 * thread of it a row in which the process' own columns are empty. Lines with # before the header hold the tags of
 * processes that have none. `native`: null reads without C.
 */
export function readCsv(file: DataFile, rows: ProcessRows, native = sampling()): void {
  const { name } = file;
  const bytes = textBytes(file);
  const { header, tags, ...begin } = readHeader(bytes, name);
  let { line, at } = begin;

  rows.files.push(name);
  const firstThread = rows.threads;
  const firstProcess = rows.processes;
  rows.room(lineCount(bytes, at));
  // they are most of the file; what of it is not needed costs nothing
  rows.texts.get('args')!.pool.reserve(0, bytes.length);
  const width = header.length;
  const texts = header.map((column) => (TEXTS.includes(column) ? rows.texts.get(column)! : undefined));
  const columns = (): Float64Array[] =>
    header.map((column, c) => (texts[c] === undefined ? rows.column(column) : new Float64Array(0)));
  let targets = columns();
  const utf8 = isUtf8(bytes);
  const columnIndex = (column: string): number => header.indexOf(column);
  const [numtids, pid, start, end, tid] = [
    columnIndex('numtids'),
    columnIndex('pid'),
    columnIndex('start'),
    columnIndex('end'),
    columnIndex('tid'),
  ];
  const times = ['usertime', 'systemtime'].map(columnIndex);
  let expected = 0;
  /** By column, the last text that was found: an empty one at first, which has the code 0. */
  const lastStart = new Uint32Array(width);
  const lastEnd = new Uint32Array(width);
  const lastCode = new Uint32Array(width);
  const plain = native === null || !utf8 ? undefined : new PlainRows(native, bytes, header, rows);
  let nextPlain = 0;

  while (at < bytes.length) {
    if (plain !== undefined && rows.threads >= nextPlain) {
      const before = rows.threads;
      ({ at, line, expected } = plain.read({ at, line, expected }, targets, texts));
      if (rows.threads - before < FEW_ROWS) nextPlain = rows.threads + ROWS_BETWEEN;
      if (at >= bytes.length) break;
    }
    line++;
    const rowStart = at;
    if (bytes[at] === NEWLINE || (bytes[at] === RETURN && bytes[at + 1] === NEWLINE)) {
      at += bytes[at] === NEWLINE ? 1 : 2;
      continue;
    }
    // what looks like a comment but has all columns is a process whose tags begin so
    if (bytes[at] === 35 && cells(bytes, at) !== width) {
      at = bytes.indexOf(NEWLINE, at) + 1;
      continue;
    }
    const row = rows.threads;
    if (rows.room()) targets = columns();
    for (let c = 0; c < width; c++) {
      const text = texts[c];
      let byte: number;
      if (text === undefined) {
        const negative = bytes[at] === 45;
        if (negative) at++;
        const from = at;
        // most numbers are small, and put together faster as what they are
        let small = 0;
        byte = bytes[at]!;
        for (const near = from + SMALL_DIGITS; byte >= 48 && byte <= 57 && at < near; byte = bytes[++at]!)
          small = (small * 10 + (byte - 48)) | 0;
        let value = small;
        for (; byte >= 48 && byte <= 57; byte = bytes[++at]!) value = value * 10 + (byte - 48);
        if (at === from) {
          value = Number.NaN;
          if (c >= times[0]!) rows.empty++;
        }
        targets[c]![row] = negative ? -value : value;
        if (byte === RETURN && bytes[at + 1] === NEWLINE) byte = bytes[++at]!;
        if ((byte !== COMMA && byte !== NEWLINE) || (negative && at === from)) {
          const columnCount = cells(bytes, rowStart);
          if (columnCount !== width) throw corrupted(name, line, columnsText(columnCount, width));
          throw corrupted(name, line, `${header[c]} is no whole number: ${cellAt(bytes, negative ? from - 1 : from)}`);
        }
      } else {
        const from = at;
        at = cellEnd(bytes, at);
        byte = bytes[at]!;
        // many are the same as in the row before
        if (at - from !== lastEnd[c]! - lastStart[c]! || !isEqual(bytes, from, at, lastStart[c]!)) {
          const cell = utf8 ? undefined : repaired(bytes.subarray(from, at));
          lastCode[c] = cell === undefined ? text.pool.code(bytes, from, at) : text.pool.code(cell, 0, cell.length);
          lastStart[c] = from;
          lastEnd[c] = at;
        }
        text.codes[rows.processes] = lastCode[c]!;
      }
      if ((byte === NEWLINE) === (c === width - 1)) at++;
      else throw corrupted(name, line, columnsText(cells(bytes, rowStart), width));
    }

    for (const c of times) if (Number.isNaN(targets[c]![row])) throw corrupted(name, line, `${header[c]} is empty`);
    const announced = targets[numtids]![row]!;
    if (Number.isNaN(announced)) {
      if (expected === 0) throw corrupted(name, line, 'it is a thread without a process (numtids is empty)');
      if (tid >= 0 && Number.isNaN(targets[tid]![row])) throw corrupted(name, line, 'tid is empty');
      expected--;
    } else {
      if (expected > 0) throw corrupted(name, line, tooFew(rows, expected));
      if (announced < 1) throw corrupted(name, line, `numtids is ${announced}`);
      if (announced > MOST_THREADS) throw corrupted(name, line, 'numtids is too large');
      if (Number.isNaN(targets[pid]![row])) throw corrupted(name, line, 'pid is missing');
      // NaN or 0; what else they cannot be is told by checkRows
      if (!targets[start]![row] || !targets[end]![row]) throw corrupted(name, line, 'start or end is missing');
      expected = announced - 1;
      rows.first[rows.processes] = row;
      rows.file[rows.processes++] = rows.files.length - 1;
    }
    rows.line[rows.threads++] = line;
    rows.first[rows.processes] = rows.threads;
  }
  if (expected > 0) throw corrupted(name, line, tooFew(rows, expected));
  rows.fillMissing(firstThread, new Set(header));
  if (!header.includes('tags')) rows.texts.get('tags')!.codes.fill(0, firstProcess, rows.processes);
  if (tags !== '') giveTags(rows, firstProcess, tags);
}

interface Place {
  at: number;
  /** How many lines end before it. */
  line: number;
  /** Threads of the last process that are still to come. */
  expected: number;
}

/** Leaves rows to C until one is not plain. */
class PlainRows {
  private readonly native: Sampling;
  private readonly bytes: Buffer;
  private readonly rows: ProcessRows;
  private readonly kinds: Uint8Array;
  private readonly sizes: Uint32Array;
  private readonly state = new Float64Array(Object.keys(CELL_STATE).length);

  constructor(native: Sampling, bytes: Buffer, header: readonly string[], rows: ProcessRows) {
    this.native = native;
    this.bytes = bytes;
    this.rows = rows;
    const counted = header.indexOf('usertime');
    this.kinds = Uint8Array.from(header, (column, c) =>
      TEXTS.includes(column) ? CELL.text : (JUDGED[column] ?? CELL.number) | (c >= counted ? CELL.counted : 0),
    );
    this.sizes = new Uint32Array(header.length);
  }

  read(from: Place, targets: readonly Float64Array[], texts: readonly (Texts | undefined)[]): Place {
    const { native, bytes, rows, kinds, sizes, state } = this;
    state.set([from.at, from.line, rows.threads, rows.processes, from.expected, rows.empty, rows.files.length - 1]);
    for (;;) {
      const arrays: Parameters<Sampling['readCells']>[3][number][] = [];
      for (const [c, text] of texts.entries()) {
        if (text === undefined) arrays.push(targets[c]!);
        else arrays.push(text.codes, ...text.pool.lookUp);
        sizes[c] = text?.pool.size ?? 0;
      }
      const { first, file, line } = rows;
      if (native.readCells(bytes, state, kinds, arrays, sizes, first, file, line) < 0) return from;
      for (const [c, text] of texts.entries()) if (text !== undefined) text.pool.size = sizes[c]!;
      rows.threads = state[CELL_STATE.threads]!;
      rows.processes = state[CELL_STATE.processes]!;
      rows.empty = state[CELL_STATE.empty]!;
      const at = state[CELL_STATE.from]!;
      const full = state[CELL_STATE.full]!;
      if (full === 0) return { at, line: state[CELL_STATE.line]!, expected: state[CELL_STATE.expected]! };
      const { pool } = texts[full - 1]!;
      pool.reserve(pool.size * 3, bytes.indexOf(NEWLINE, at) - at);
    }
  }
}

/** Columns of numbers that say whether a row can be one. */
const JUDGED: Readonly<Record<string, number>> = {
  usertime: CELL.time,
  systemtime: CELL.time,
  numtids: CELL.count,
  pid: CELL.pid,
  start: CELL.moment,
  end: CELL.moment,
  tid: CELL.tid,
};

interface Header {
  header: string[];
  /** Of processes that have none. */
  tags: string;
  /** The line that it is in, and where the next one begins. */
  line: number;
  at: number;
}

/** Comments, then the header. */
function readHeader(bytes: Buffer, name: string): Header {
  let tags = '';
  for (let [line, at] = [1, 0]; ; line++) {
    const headerLine = lineAt(bytes, at);
    if (headerLine === undefined) {
      if (line === 1 || bytes.length === 0) throw corrupted(name, 1, 'it is empty');
      throw corrupted(name, line - 1, 'no header came');
    }
    at = headerLine.next;
    if (headerLine.text !== '' && !headerLine.text.startsWith('#')) {
      const header = headerLine.text.split(',');
      usableHeader(header, NEEDED, name, line);
      return { header, tags, line, at };
    }
    if (tags === '' && line === 1) tags = headerLine.text.slice(1).trim();
  }
}

const columnsText = (columnCount: number, width: number): string =>
  `it has ${columnCount} columns, the header has ${width}`;

const tooFew = (rows: ProcessRows, missing: number): string =>
  `${missing} more threads of the process in line ${rows.line[rows.first[rows.processes - 1]!]} should come before`;

/** Old versions of papiex wrote the tags as a comment. */
function giveTags(rows: ProcessRows, from: number, tags: string): void {
  const { codes, pool } = rows.texts.get('tags')!;
  const code = pool.codeOf(tags);
  for (let p = from; p < rows.processes; p++) if (codes[p] === 0) codes[p] = code;
}

/** Where the comma or newline behind a text is. Arguments are long: what is not found soon is looked for natively. */
function cellEnd(bytes: Buffer, from: number): number {
  let at = from;
  for (const near = from + 64; at < near; at++) {
    const byte = bytes[at]!;
    if (byte === COMMA || byte === NEWLINE) return at;
    if (byte === BACKSLASH && bytes[at + 1] !== NEWLINE) at++;
  }
  const line = bytes.indexOf(NEWLINE, at);
  for (;;) {
    const comma = bytes.indexOf(COMMA, at);
    if (comma < 0 || comma > line) return line;
    let backslash = comma;
    while (backslash > at && bytes[backslash - 1] === BACKSLASH) backslash--;
    if ((comma - backslash) % 2 === 0) return comma;
    at = comma + 1;
  }
}

/** Whether the bytes from `from` to before `to` are also at `other`. */
function isEqual(bytes: Buffer, from: number, to: number, other: number): boolean {
  for (let at = from, there = other; at < to; at++, there++) if (bytes[at] !== bytes[there]) return false;
  return true;
}

/** How many cells the line has. */
function cells(bytes: Buffer, at: number): number {
  let count = 1;
  for (; bytes[at] !== NEWLINE; at++) {
    if (bytes[at] === COMMA) count++;
    else if (bytes[at] === BACKSLASH && bytes[at + 1] !== NEWLINE) at++;
  }
  return count;
}

function cellAt(bytes: Buffer, from: number): string {
  let to = from;
  while (bytes[to] !== COMMA && bytes[to] !== NEWLINE && to - from < 40) to++;
  return JSON.stringify(bytes.toString('utf8', from, to));
}
