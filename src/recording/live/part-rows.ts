import * as fs from 'node:fs';
import { rowEndIn } from '../../base/csv.ts';
import { unpackFile } from '../sealed/unpack.ts';

/** How many whole rows a part holds, and the times of the first and the last one. */
export function partRows(file: string): { rows: number; first?: number; last?: number } {
  const bytes = content(file);
  let rows = 0;
  let first: number | undefined;
  let last: number | undefined;
  let start = bytes.indexOf('\n') + 1;
  if (start === 0) return { rows: 0 };
  for (let end = rowEndIn(bytes, start); end > 0; start = end, end = rowEndIn(bytes, start)) {
    const time = Number.parseInt(bytes.toString('latin1', start, Math.min(end, start + 20)), 10);
    rows++;
    if (Number.isNaN(time)) continue;
    first ??= time;
    last = time;
  }
  return { rows, ...(first === undefined || last === undefined ? {} : { first, last }) };
}

function content(file: string): Buffer {
  const bytes = fs.readFileSync(file);
  return file.endsWith('.zst') ? unpackFile(bytes).bytes : bytes;
}
