import { isUtf8 } from 'node:buffer';
import type { DataFile } from './archive.ts';
import { asCsvCell, repaired } from './cell-text.ts';
import { corrupted, lineAt, textBytes, usableHeader } from './lines.ts';
import { NEEDED, type ProcessRows, TEXTS } from './rows.ts';

const TAB = 9;
const NEWLINE = 10;
const RETURN = 13;
const SPACE = 32;
const QUOTE = 34;
const COMMA = 44;
const OPEN = 123;
const CLOSE = 125;

export interface TsvHeader {
  /** Of each thread, in the order of their values. */
  metrics: string[];
  /** What stands behind the metrics. */
  columns: string[];
  /** Written by `epmt convert`, that is by Python's csv module: cells may be quoted. */
  converted: boolean;
}

/** The one line of `<host>-papiex-header.tsv`: `{usertime,systemtime,…}`, then the columns. */
export function readTsvHeader(file: DataFile): TsvHeader {
  const { name } = file;
  const [braced = '', ...given] = (lineAt(textBytes(file), 0)?.text ?? '').split('\t').map((word) => word.trim());
  const list = /^\{(.+)\}$/.exec(braced)?.[1];
  if (list === undefined) throw corrupted(name, 1, 'it does not begin with {metric,…}');
  const metrics = list.split(',').map((word) => word.trim());
  const columns = given.map((column) => (column === 'finish' ? 'end' : column));
  usableHeader([...metrics, ...columns], NEEDED, name, 1);
  return { metrics, columns, converted: given.includes('finish') };
}

/**
 * Reads a TSV file: a process a line, its threads' metrics one after another in braces. Control characters are written
 * with a backslash but a backslash is not, so nobody can tell what one means: it stays as it is.
 */
export function readTsv(file: DataFile, header: TsvHeader, rows: ProcessRows): void {
  const { name } = file;
  const bytes = textBytes(file);
  const { metrics, columns, converted } = header;
  rows.files.push(name);
  const firstThread = rows.threads;
  const utf8 = isUtf8(bytes);
  const texts = columns.map((column) => (TEXTS.includes(column) ? rows.texts.get(column)! : undefined));
  let line = 0;
  let at = 0;

  while (at < bytes.length) {
    line++;
    if (bytes[at] === NEWLINE || (bytes[at] === RETURN && bytes[at + 1] === NEWLINE)) {
      at += bytes[at] === NEWLINE ? 1 : 2;
      continue;
    }
    const row = rows.threads;
    if (bytes[at] !== OPEN) throw corrupted(name, line, 'it does not begin with {');
    // values of all threads, then the braces' end
    at++;
    let count = 0;
    for (;;) {
      while (bytes[at] === SPACE) at++;
      const negative = bytes[at] === 45;
      if (negative) at++;
      const from = at;
      let value = 0;
      let byte = bytes[at]!;
      for (; byte >= 48 && byte <= 57; byte = bytes[++at]!) value = value * 10 + (byte - 48);
      if (at === from || (byte !== COMMA && byte !== CLOSE)) {
        throw corrupted(name, line, `value ${count + 1} in the braces is no whole number`);
      }
      const thread = row + Math.floor(count / metrics.length);
      rows.room(thread - row + 1);
      rows.column(metrics[count % metrics.length]!)[thread] = negative ? -value : value;
      count++;
      at++;
      if (byte === CLOSE) break;
    }
    if (bytes[at] !== TAB) throw corrupted(name, line, 'a tab should follow the braces');
    const threads = count / metrics.length;
    const process = rows.processes;

    for (let c = 0; c < columns.length; c++) {
      if (bytes[at] !== TAB)
        throw corrupted(name, line, `it has ${c + 1} columns, the header has ${columns.length + 1}`);
      const from = ++at;
      const quoted = converted && bytes[at] === QUOTE;
      if (quoted) {
        at++;
        while (at < bytes.length && (bytes[at] !== QUOTE || bytes[at + 1] === QUOTE)) {
          if (bytes[at] === NEWLINE) line++;
          at += bytes[at] === QUOTE ? 2 : 1;
        }
      } else while (bytes[at] !== TAB && bytes[at] !== NEWLINE) at++;
      const begin = quoted ? from + 1 : from;
      const to = !quoted && bytes[at] === NEWLINE && bytes[at - 1] === RETURN && at > from ? at - 1 : at;
      if (quoted) at++;
      const text = texts[c];
      if (text === undefined) rows.column(columns[c]!)[row] = wholeNumber(bytes, begin, to, columns[c]!, name, line);
      else {
        const cell = asCsvCell(bytes, begin, to, quoted);
        const good = utf8 ? cell : repaired(cell);
        text.codes[process] = text.pool.code(good, 0, good.length);
      }
    }
    if (bytes[at] === RETURN) at++;
    if (bytes[at++] !== NEWLINE)
      throw corrupted(name, line, `it has more than the header's ${columns.length + 1} columns`);

    const numtids = rows.column('numtids')[row]!;
    if (numtids * metrics.length !== count) {
      const values = `${count} values for ${numtids} threads with ${metrics.length} metrics each`;
      throw corrupted(name, line, `there are ${values}`);
    }
    if (Number.isNaN(rows.column('pid')[row])) throw corrupted(name, line, 'pid is missing');
    // NaN or 0; what else they cannot be is told by checkRows
    if (!rows.column('start')[row] || !rows.column('end')[row]) {
      throw corrupted(name, line, 'start or end is missing');
    }
    for (const column of columns) {
      if (!TEXTS.includes(column)) rows.column(column).fill(Number.NaN, row + 1, row + threads);
    }
    rows.file[process] = rows.files.length - 1;
    rows.line.fill(line, row, row + threads);
    rows.first[process] = row;
    rows.processes++;
    rows.threads += threads;
    rows.first[rows.processes] = rows.threads;
  }
  rows.fillMissing(firstThread, new Set([...metrics, ...columns]));
}

/** The number in a cell; NaN when it is empty. */
function wholeNumber(bytes: Buffer, from: number, to: number, column: string, name: string, line: number): number {
  if (from === to) return Number.NaN;
  const text = bytes.toString('latin1', from, Math.min(to, from + 40));
  if (!/^-?\d+$/.test(text)) throw corrupted(name, line, `${column} is no whole number: ${JSON.stringify(text)}`);
  return Number(text);
}
