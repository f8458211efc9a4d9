import { isUtf8 } from 'node:buffer';
import { textOf } from '../../base/byte-text.ts';

const BACKSLASH = 92;
const QUOTE = 34;

const ODD = /[\\\0]|^\$'/;
const OTHERWISE_ODD = /\\[^,]|\0|^\$'/;
const ESCAPED = /\\([abfnrtv\\,])/g;
const CONTROL: Record<string, string> = { a: '\x07', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v' };
/** A byte that is no UTF-8, between `repaired` and `cellMeaning`: no argument has a NUL. */
const STRAY = /\0([0-9a-f]{2})/g;

/**
 * What a cell of a CSV file means: a backslash escapes a comma, a backslash and control characters; before anything else
 * it is only that.
 */
export function cellMeaning(cell: string): string {
  if (!ODD.test(cell)) return cell;
  // nothing but commas is escaped in most; what replaceAll makes is a chain of pieces, many times as large as the text
  if (!OTHERWISE_ODD.test(cell)) return cell.split('\\,').join(',');
  const meant = cell.replace(ESCAPED, (_, behind: string) => CONTROL[behind] ?? behind);
  if (!meant.includes('\0') && !meant.startsWith("$'")) return meant;
  const parts = meant.split(STRAY);
  return textOf(Buffer.concat(parts.map((part, i) => Buffer.from(part, i % 2 === 1 ? 'hex' : 'utf8'))));
}

/** A cell of a TSV file as a CSV file would hold it: there a backslash is only that. Of doubled quotes one is meant. */
export function asCsvCell(bytes: Buffer, from: number, to: number, quoted: boolean): Buffer {
  const out = Buffer.allocUnsafe((to - from) * 2);
  let length = 0;
  for (let i = from; i < to; i++) {
    const byte = bytes[i]!;
    out[length++] = byte;
    if (byte === BACKSLASH) out[length++] = BACKSLASH;
    else if (quoted && byte === QUOTE) i++;
  }
  return out.subarray(0, length);
}

/** The cell as UTF-8: each byte that is none becomes a NUL and its two digits. */
export function repaired(cell: Buffer): Buffer {
  if (isUtf8(cell)) return cell;
  const out: Buffer[] = [];
  for (let at = 0; at < cell.length; ) {
    const lead = cell[at]!;
    const size = lead < 0x80 ? 1 : lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    const character = cell.subarray(at, at + size);
    if (character.length === size && isUtf8(character)) {
      out.push(character);
      at += size;
    } else {
      out.push(Buffer.from(`\0${lead.toString(16)}`));
      at++;
    }
  }
  return Buffer.concat(out);
}
