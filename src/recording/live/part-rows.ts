import * as fs from 'node:fs';
import { unpackFile } from '../sealed/unpack.ts';

const NEWLINE = 10;
const QUOTE = 34;

/** How many whole rows a part holds, and the times of the first and the last one. */
export function partRows(file: string): { rows: number; first?: number; last?: number } {
  const bytes = content(file);
  let rows = 0;
  let first: number | undefined;
  let last: number | undefined;
  let quoted = false;
  let start = bytes.indexOf(NEWLINE) + 1;
  if (start === 0) return { rows: 0 };
  for (let i = start; i < bytes.length; i++) {
    if (bytes[i] === QUOTE) quoted = !quoted;
    else if (bytes[i] === NEWLINE && !quoted) {
      const time = Number.parseInt(bytes.toString('latin1', start, Math.min(i, start + 20)), 10);
      rows++;
      if (!Number.isNaN(time)) {
        first ??= time;
        last = time;
      }
      start = i + 1;
    }
  }
  return { rows, ...(first === undefined || last === undefined ? {} : { first, last }) };
}

function content(file: string): Buffer {
  const bytes = fs.readFileSync(file);
  return file.endsWith('.zst') ? unpackFile(bytes).bytes : bytes;
}
