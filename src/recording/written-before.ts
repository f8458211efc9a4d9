import * as fs from 'node:fs';
import type { CsvText } from './csv-write.ts';

/** More than the records that are read between two notes of how far that was. */
const TAIL = 4 << 20;

/** The last lines of a file of an agent that was killed: what it has not noted as read comes to the next one once more. */
export function writtenBefore(file: string): Set<string> {
  const fd = fs.openSync(file, 'r');
  try {
    const { size } = fs.fstatSync(fd);
    const bytes = Buffer.alloc(Math.min(size, TAIL));
    const length = fs.readSync(fd, bytes, 0, bytes.length, size - bytes.length);
    return new Set(bytes.toString('latin1', 0, length).split('\n'));
  } finally {
    fs.closeSync(fd);
  }
}

/** Takes the lines from `from` on that are known out of the text; returns how many. */
export function takeOut(csv: CsvText, from: number, known: ReadonlySet<string>): number {
  let dropped = 0;
  let to = from;
  for (let at = from; at < csv.length; ) {
    const next = csv.bytes.indexOf(10, at) + 1;
    if (known.has(csv.bytes.toString('latin1', at, next - 1))) dropped++;
    else {
      csv.bytes.copyWithin(to, at, next);
      to += next - at;
    }
    at = next;
  }
  csv.length = to;
  return dropped;
}
