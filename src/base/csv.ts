/** The form of CSV files (RFC 4180): how a text is quoted, where a row ends, what its cells are. */

const NEWLINE = 10;
const QUOTE = 34;

/** A text as a cell. Most are plain: they are looked through without a copy. */
export function cell(text: string): string {
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c === QUOTE || c === 44 || c === NEWLINE || c === 13) return `"${text.replaceAll('"', '""')}"`;
  }
  return text;
}

/** Texts as a line. */
export function line(texts: readonly string[]): string {
  return `${texts.map(cell).join(',')}\n`;
}

/** The cells of one line as texts. */
export function splitLine(line: string): string[] {
  if (!line.includes('"')) return line.split(',');
  const cells: string[] = [];
  let at = 0;
  for (;;) {
    if (line[at] === '"') {
      let cell = '';
      at++;
      for (;;) {
        const quote = line.indexOf('"', at);
        if (quote < 0) return [...cells, cell + line.slice(at)];
        cell += line.slice(at, quote);
        at = quote + 1;
        if (line[at] !== '"') break;
        cell += '"';
        at++;
      }
      cells.push(cell);
    } else {
      const comma = line.indexOf(',', at);
      cells.push(comma < 0 ? line.slice(at) : line.slice(at, comma));
      at = comma < 0 ? line.length : comma;
    }
    if (at >= line.length) return cells;
    at++;
  }
}

/** A header with more columns is none of a table. */
export const MOST_COLUMNS = 4000;

/** The names of the columns; undefined: these are not the columns of a table. */
export function columnNames(header: string): string[] | undefined {
  const names = splitLine(header);
  return names.length > MOST_COLUMNS ? undefined : names;
}

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

/** Behind the newline that ends the row which holds the byte at `from`; −1: it does not end before `to`. */
export function rowEndIn(bytes: Uint8Array, from: number, to = bytes.length, quoted = false): number {
  let inside = quoted;
  for (let i = from; i < to; i++) {
    if (bytes[i] === QUOTE) inside = !inside;
    else if (bytes[i] === NEWLINE && !inside) return i + 1;
  }
  return -1;
}

/** Where the last whole row ends; 0: there is none. */
export function lastRowEnd(bytes: Uint8Array): number {
  if (bytes.indexOf(QUOTE) < 0) return bytes.lastIndexOf(NEWLINE) + 1;
  let last = 0;
  for (let end = rowEndIn(bytes, 0); end > 0; end = rowEndIn(bytes, end)) last = end;
  return last;
}

/** Whether a text that goes on with these bytes is inside of quotes behind them. */
export function isQuotedAfter(bytes: Uint8Array, quoted = false): boolean {
  let inside = quoted;
  for (const byte of bytes) if (byte === QUOTE) inside = !inside;
  return inside;
}
