import { Fault } from '../../base/fault.ts';

const NEWLINE = 10;
const BYTE_ORDER_MARK = Buffer.from('\ufeff');

export interface Line {
  text: string;
  /** Where the next one begins. */
  next: number;
}

/** The line that begins at `at`, without its end; undefined behind the last. */
export function lineAt(bytes: Buffer, at: number): Line | undefined {
  if (at >= bytes.length) return undefined;
  const end = bytes.indexOf(10, at);
  const stop = end < 0 ? bytes.length : end;
  return { text: bytes.toString('utf8', at, stop).replace(/\r$/, ''), next: stop + 1 };
}

/** How many lines end behind `from`. */
export function lineCount(bytes: Buffer, from: number): number {
  let count = 0;
  for (let at = bytes.indexOf(NEWLINE, from); at >= 0; at = bytes.indexOf(NEWLINE, at + 1)) count++;
  return count;
}

/** The bytes of a file behind the mark that editors put before UTF-8, ended by a newline. No text has a NUL in it. */
export function textBytes({ name, bytes }: { name: string; bytes: Buffer }): Buffer {
  const nul = bytes.indexOf(0);
  if (nul >= 0) {
    let line = 1;
    for (let at = bytes.indexOf(NEWLINE); at >= 0 && at < nul; at = bytes.indexOf(NEWLINE, at + 1)) line++;
    throw corrupted(name, line, 'there is a NUL byte in it');
  }
  const text = bytes.subarray(0, 3).equals(BYTE_ORDER_MARK) ? bytes.subarray(3) : bytes;
  return text.length > 0 && text.at(-1) !== NEWLINE ? Buffer.concat([text, Buffer.of(NEWLINE)]) : text;
}

/** The number of a last line that has no end, which papiex gives every line; undefined: all have one. */
export function endlessLine(bytes: Buffer): number | undefined {
  if (bytes.length === 0 || bytes.at(-1) === NEWLINE) return undefined;
  return 1 + lineCount(bytes, 0);
}

/** Something is wrong with a line of a data file: nothing of the job is stored. */
export function corrupted(file: string, line: number, why: string): Fault {
  return new Fault(`${file}, line ${line}: ${why}`);
}

/** A header must name what is needed, and nothing twice. */
export function usableHeader(header: readonly string[], needed: readonly string[], file: string, line: number): void {
  const missing = needed.filter((name) => !header.includes(name));
  if (missing.length > 0) {
    throw corrupted(file, line, `the header lacks ${missing.length > 5 ? 'most columns' : missing.join(', ')}`);
  }
  const twice = header.find((name, i) => header.indexOf(name) !== i);
  if (twice !== undefined) throw corrupted(file, line, `the header has ${JSON.stringify(twice)} twice`);
}
