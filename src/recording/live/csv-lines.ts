import { splitLine } from '../read/csv-read.ts';

/** A header with more columns is none of a table. */
export const MOST_COLUMNS = 4000;

/** The names of the columns; undefined: these are not the columns of a table. */
export function columnNames(header: string): string[] | undefined {
  const names = splitLine(header);
  return names.length > MOST_COLUMNS ? undefined : names;
}

const NEWLINE = 10;
const QUOTE = 34;

/** Where the row that begins at `from` ends: at its newline, which is not inside of quotes, or with the text. */
export function rowEnd(text: string, from: number): number {
  const newline = text.indexOf('\n', from);
  const end = newline < 0 ? text.length : newline;
  if (!text.slice(from, end).includes('"')) return end;
  let quoted = false;
  for (let at = from; at < text.length; at++) {
    const char = text.charCodeAt(at);
    if (char === QUOTE) quoted = !quoted;
    else if (char === NEWLINE && !quoted) return at;
  }
  return text.length;
}
