import * as fs from 'node:fs';
import { openPlain, readPlain } from '../../base/plain-file.ts';
import { MOST_PART_BYTES, unpackWhole } from '../sealed/unpack.ts';

/** How much of a file's end is looked at first: rows are seldom longer than some kilobytes. */
const TAIL = 16 << 10;
/** In so much without a row there is none. */
const MOST_TAIL = 16 << 20;

/** The time of the last row of a live part, in epoch microseconds; undefined when it has no row that can be read. */
export function lastTime(file: string): number | undefined {
  try {
    if (file.endsWith('.zst')) return lastTimeIn(unpackWhole(readPlain(file, MOST_PART_BYTES)));
    return lastTimeAtEnd(file);
  } catch {
    // it went away meanwhile, or is damaged: it says nothing
    return undefined;
  }
}

function lastTimeAtEnd(file: string): number | undefined {
  const fd = openPlain(file, fs.constants.O_RDONLY, true);
  try {
    const { size } = fs.fstatSync(fd);
    const most = Math.min(size, MOST_TAIL);
    for (let length = Math.min(TAIL, most); ; length = Math.min(length * 8, most)) {
      const bytes = Buffer.alloc(length);
      const read = fs.readSync(fd, bytes, 0, length, size - length);
      const newest = lastTimeIn(bytes.subarray(0, read));
      if (newest !== undefined || length === most) return newest;
    }
  } finally {
    fs.closeSync(fd);
  }
}

/** A line that begins with microseconds since 1970 and goes on: a torn one has its time, too, once a comma follows. */
function lastTimeIn(bytes: Buffer): number | undefined {
  for (let end = bytes.length; end > 0; ) {
    const begin = bytes.lastIndexOf(10, end - 1) + 1;
    const time = /^(\d{15,17}),/.exec(bytes.toString('latin1', begin, Math.min(begin + 18, bytes.length)))?.[1];
    if (time !== undefined && begin > 0) return Number(time);
    end = begin - 1;
  }
  return undefined;
}
