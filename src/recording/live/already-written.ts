import * as fs from 'node:fs';
import { isQuotedAfter, rowEndIn } from '../../base/csv.ts';
import type { CsvText } from './csv-write.ts';

/** More than the records that are read between two notes of how far that was. */
const TAIL = 4 << 20;

const COMMA = 44;

/**
 * The last rows of a file of an agent that was killed: what it has not noted as read comes to the next one once more, but
 * the next one may know less about it. Events with keys are told apart by these and their time, others by all they say.
 */
export function alreadyWritten(file: string, keys: number, tail = TAIL): Set<string> {
  const fd = fs.openSync(file, 'r');
  try {
    const { size } = fs.fstatSync(fd);
    const bytes = Buffer.alloc(Math.min(size, tail));
    const from = size - bytes.length;
    const quoted = isQuoted(fd, from);
    const length = fs.readSync(fd, bytes, 0, bytes.length, from);
    const rows = new Set<string>();
    // where the tail begins in a row, the next one is the first
    let at = from === 0 ? 0 : rowEnd(bytes, 0, length, quoted);
    for (let next = at; at < length; at = next) {
      next = rowEnd(bytes, at, length);
      rows.add(identity(bytes, at, next, keys));
    }
    return rows;
  } finally {
    fs.closeSync(fd);
  }
}

/** Takes the rows from `from` on that are known out of the text; returns how many. */
export function takeOut(csv: CsvText, from: number, writtenRows: ReadonlySet<string>, keys: number): number {
  let dropped = 0;
  let to = from;
  for (let at = from; at < csv.length; ) {
    const next = rowEnd(csv.bytes, at, csv.length);
    if (writtenRows.has(identity(csv.bytes, at, next, keys))) dropped++;
    else {
      csv.bytes.copyWithin(to, at, next);
      to += next - at;
    }
    at = next;
  }
  csv.length = to;
  return dropped;
}

/** The time of a row and its keys, which are never quoted; the whole row where there are no keys. */
function identity(bytes: Buffer, at: number, end: number, keys: number): string {
  let commas = 0;
  for (let i = at; keys > 0 && i < end; i++) {
    if (bytes[i] === COMMA && ++commas > keys) return bytes.toString('latin1', at, i);
  }
  return bytes.toString('latin1', at, end);
}

/** Behind the row that holds the byte at `at`; of one that does not end, behind all. */
function rowEnd(bytes: Buffer, at: number, length: number, quoted = false): number {
  const end = rowEndIn(bytes, at, length, quoted);
  return end < 0 ? length : end;
}

/** Whether a place in a file is inside quotes. */
function isQuoted(fd: number, position: number): boolean {
  const bytes = Buffer.alloc(Math.min(position, 1 << 16));
  let quoted = false;
  for (let at = 0; at < position; ) {
    const read = fs.readSync(fd, bytes, 0, Math.min(bytes.length, position - at), at);
    if (read === 0) break;
    quoted = isQuotedAfter(bytes.subarray(0, read), quoted);
    at += read;
  }
  return quoted;
}
