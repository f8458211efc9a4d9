import * as fs from 'node:fs';
import { isFull } from '../../base/fault.ts';
import { openNew, openPlain } from '../../base/plain-file.ts';

/**
 * Writes a JSON file so that a reader sees the old one or the new one, never a part of one. With `room` (bytes left free
 * at its end) it can grow by so much, and by its indentation, even when the disk is full: then it is written in place.
 */
export function replaceJson(file: string, value: unknown, room = 0): void {
  const text = `${JSON.stringify(value, null, 1)}\n`;
  replace(file, room === 0 ? text : `${text}${' '.repeat(room - 1)}\n`, room === 0 ? undefined : value);
}

/** As small as it can be, for a file with room that will not grow any more. */
export function replaceLast(file: string, value: unknown): void {
  replace(file, `${JSON.stringify(value)}\n`, value);
}

/** The same of what is no JSON text. */
export function replaceBytes(file: string, bytes: Buffer): void {
  replace(file, bytes, undefined);
}

/** `again`: what can be written in place when the disk is full. */
function replace(file: string, text: string | Buffer, again: unknown): void {
  const temporary = `${file}.${process.pid}.tmp`;
  try {
    const fd = openNew(temporary);
    try {
      fs.writeFileSync(fd, text);
    } finally {
      fs.closeSync(fd);
    }
    fs.renameSync(temporary, file);
  } catch (error) {
    discard(temporary);
    if (again === undefined || !isFull(error)) throw error;
    if (!writeInPlace(file, Buffer.from(`${JSON.stringify(again)}\n`))) throw error;
  }
}

/** False: there is no such file, or it has not that much room. */
function writeInPlace(file: string, text: Buffer): boolean {
  let fd: number;
  try {
    fd = openPlain(file, fs.constants.O_RDWR);
  } catch {
    return false;
  }
  try {
    const { size } = fs.fstatSync(fd);
    if (text.length > size) return false;
    const whole = Buffer.alloc(size, ' ');
    text.copy(whole);
    return fs.writeSync(fd, whole, 0, size, 0) === size;
  } catch {
    return false;
  } finally {
    fs.closeSync(fd);
  }
}

function discard(file: string): void {
  try {
    fs.unlinkSync(file);
  } catch {
    // what kept it from being written keeps it from being removed
  }
}
