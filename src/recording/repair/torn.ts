import * as fs from 'node:fs';
import * as path from 'node:path';
import { made } from '../../base/made.ts';
import { readPlain } from '../../base/plain-file.ts';
import { damagedOf } from '../folder/files.ts';
import type { Damage } from '../read/csv-read.ts';

/** Lines that could not be read, by the part they come from; beyond this size the whole part is kept instead. */
const MOST = 4 << 20;

export class Rejected {
  readonly parts = new Map<string, { buffers: Buffer[]; bytes: number }>();

  add(partFile: string, bytes: Uint8Array): void {
    const rejectedPart = made(this.parts, partFile, () => ({ buffers: [], bytes: 0 }));
    rejectedPart.bytes += bytes.length;
    if (rejectedPart.bytes <= MOST) rejectedPart.buffers.push(Buffer.from(bytes));
    else rejectedPart.buffers = [];
  }
}

/** The first of `<name>.torn`, `<name>.2.torn`, … that is not taken. `damaged` stands for rows that are nowhere else. */
export function tornName(folder: string, name: string, ending: 'torn' | 'damaged' = 'torn'): string {
  for (let n = 1; ; n++) {
    const candidate = path.join(folder, n === 1 ? `${name}.${ending}` : `${name}.${n}.${ending}`);
    // a link that leads nowhere has the name, too
    if (fs.lstatSync(candidate, { throwIfNoEntry: false }) === undefined) return candidate;
  }
}

/** A damaged file by this name was set aside: with a new one in its place, it would look as if its rows were back. */
export function rememberDamaged(folder: string, table: string, sealed: string): void {
  for (const name of fs.readdirSync(folder)) {
    if (damagedOf(name)?.file === sealed)
      fs.renameSync(path.join(folder, name), tornName(folder, neverBack(table, sealed), 'damaged'));
  }
}

/** A name that no file of the table has: whatever is set aside by it stays lost. */
export const neverBack = (table: string, sealed: string): string => `${table}.0000${sealed.slice(table.length)}`;

/** The `<name>.torn` for these bytes, and whether they are in it: that was done before a crash. */
export function keptName(folder: string, name: string, bytes: Buffer): { file: string; there: boolean } {
  const first = path.join(folder, `${name}.torn`);
  const there = isKept(first, bytes);
  return { file: there ? first : tornName(folder, name), there };
}

/** Writes bytes to `<name>.torn`, or to the next of such a name. */
export function keepBytes(folder: string, name: string, bytes: Buffer): void {
  const { file, there } = keptName(folder, name, bytes);
  if (there) return;
  const fd = fs.openSync(file, 'wx', 0o600);
  try {
    fs.writeFileSync(fd, bytes);
    fs.fsyncSync(fd);
  } finally {
    fs.closeSync(fd);
  }
}

function isKept(file: string, bytes: Buffer): boolean {
  try {
    return readPlain(file, bytes.length).equals(bytes);
  } catch {
    // there is none, or another one
    return false;
  }
}

/**
 * Puts lines that could not be read into `<part>.torn` before their part is removed. Returns the parts that must be
 * kept whole under such a name, because they cannot be read at all or too much of them cannot.
 */
export function keepRejected(
  folder: string,
  rejected: Rejected,
  damage: readonly Damage[],
  step: (what: string) => void,
): Map<string, string> {
  const whole = new Map<string, string>();
  for (const { file, unreadable } of damage) {
    const partFile = path.basename(file);
    const lines = rejected.parts.get(partFile);
    if (unreadable !== undefined || (lines !== undefined && lines.bytes > MOST))
      whole.set(partFile, tornName(folder, partFile));
    else if (lines !== undefined) {
      keepBytes(folder, partFile, Buffer.concat(lines.buffers));
      step(`${partFile}.torn written`);
    }
  }
  return whole;
}
