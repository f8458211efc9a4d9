import { isUtf8 } from 'node:buffer';
import type { Texts } from './rows.ts';

const BACKSLASH = 92;
/** What stands behind a backslash for a control character. */
const CONTROL: Record<number, number> = { 97: 7, 98: 8, 102: 12, 110: 10, 114: 13, 116: 9, 118: 11 };
const HEX = '0123456789abcdef';

let scratch = Buffer.allocUnsafeSlow(1 << 16);
let length = 0;

/**
 * The code of a cell's text. Most cells are plain and are looked up as they are; in others control characters are
 * written out (`\n`, `\x1b`), so that a text stays one line, and so are bytes that are no UTF-8.
 */
export function cellText(text: Texts, bytes: Buffer, from: number, to: number, how: CellForm): number {
  const plain = !how.odd && (how.utf8 || isUtf8(bytes.subarray(from, to)));
  if (plain) return text.pool.code(bytes, from, to);
  length = 0;
  // a byte becomes four at most
  if (scratch.length < (to - from) * 4) scratch = Buffer.allocUnsafeSlow((to - from) * 8);
  for (let i = from; i < to; i++) {
    const byte = bytes[i]!;
    if (byte === BACKSLASH && how.escapes && i + 1 < to) {
      const next = bytes[i + 1]!;
      const control = CONTROL[next];
      if (control !== undefined) writeOut(control);
      else if (next === BACKSLASH || next === 44) scratch[length++] = next;
      // nobody escapes anything else: both characters were meant
      else {
        scratch[length++] = byte;
        continue;
      }
      i++;
    } else if (byte === 34 && how.quotes) {
      // of two quotes within quotes one is meant
      if (bytes[i + 1] === 34 && i + 1 < to) i++;
      scratch[length++] = byte;
    } else if (byte < 32 || byte === 127) writeOut(byte);
    else if (byte < 128 || how.utf8) scratch[length++] = byte;
    else i += character(bytes, i, to) - 1;
  }
  return text.pool.code(scratch, 0, length);
}

export interface CellForm {
  /** It holds a backslash or a control character. */
  odd: boolean;
  /** Backslashes escape (CSV); otherwise they are what they are. */
  escapes: boolean;
  /** Quotes in it are doubled. */
  quotes: boolean;
  /** The whole file is UTF-8. */
  utf8: boolean;
}

function writeOut(control: number): void {
  scratch[length++] = BACKSLASH;
  if (control === 10) scratch[length++] = 110;
  else if (control === 13) scratch[length++] = 114;
  else if (control === 9) scratch[length++] = 116;
  else {
    scratch[length++] = 120;
    scratch[length++] = HEX.charCodeAt(control >> 4);
    scratch[length++] = HEX.charCodeAt(control & 15);
  }
}

/** Copies a character of several bytes, or writes out one byte that begins none; returns how many were taken. */
function character(bytes: Buffer, at: number, to: number): number {
  const lead = bytes[at]!;
  const size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  const end = at + size;
  if (end <= to && isUtf8(bytes.subarray(at, end))) {
    bytes.copy(scratch, length, at, end);
    length += size;
    return size;
  }
  writeOut(lead);
  return 1;
}
