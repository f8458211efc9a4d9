import { Fault } from '../../base/fault.ts';

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
