import { isUtf8 } from 'node:buffer';
import { textOf } from '../../base/byte-text.ts';
import type { TextBytes } from '../../recording/read/batch.ts';

const DOLLAR = 36;
const APOSTROPHE = 39;
const BACKSLASH = 92;
const QUOTE = 34;

const ODD = /[\\\0]|^\$'/;
const OTHERWISE_ODD = /\\[^,]|\0|^\$'/;
const ESCAPED = /\\([abfnrtv\\,])/g;
const CONTROL: Record<string, string> = { a: '\x07', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v' };
/** By what stands behind a backslash, the byte that both mean; 0: the backslash is only that. */
const MEANING = new Uint8Array(256);
for (const behind of ',\\abfnrtv') MEANING[behind.charCodeAt(0)] = (CONTROL[behind] ?? behind).charCodeAt(0);
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
  const segments = meant.split(STRAY);
  return textOf(Buffer.concat(segments.map((segment, i) => Buffer.from(segment, i % 2 === 1 ? 'hex' : 'utf8'))));
}

/** What cells mean, without making a string of each. */
export function cellMeanings(cells: TextBytes): TextBytes {
  const { bytes, starts } = cells;
  if (bytes.includes(0) || beginsQuoted(cells)) return cellByCell(cells);
  let backslash = bytes.indexOf(BACKSLASH);
  if (backslash < 0) return cells;
  // an escape is longer than what it means
  const out = Buffer.allocUnsafeSlow(bytes.length);
  const meant = new Uint32Array(starts.length);
  let at = 0;
  for (let i = 0; i + 1 < starts.length; i++) {
    let from = starts[i]!;
    const to = starts[i + 1]!;
    while (backslash >= 0 && backslash < to) {
      const means = backslash + 1 < to ? MEANING[bytes[backslash + 1]!]! : 0;
      let next = backslash + 1;
      if (means !== 0) {
        at += bytes.copy(out, at, from, backslash);
        out[at++] = means;
        from = ++next;
      }
      backslash = bytes.indexOf(BACKSLASH, next);
    }
    at += bytes.copy(out, at, from, to);
    meant[i + 1] = at;
  }
  return { bytes: out.subarray(0, at), starts: meant };
}

function beginsQuoted({ bytes, starts }: TextBytes): boolean {
  for (let i = 0; i + 1 < starts.length; i++) {
    const at = starts[i]!;
    if (bytes[at] === DOLLAR && bytes[at + 1] === APOSTROPHE) return true;
  }
  return false;
}

function cellByCell({ bytes, starts }: TextBytes): TextBytes {
  const meant = new Uint32Array(starts.length);
  const all = Array.from(meant.subarray(1), (_, i) => {
    const text = Buffer.from(cellMeaning(bytes.toString('utf8', starts[i], starts[i + 1])));
    meant[i + 1] = meant[i]! + text.length;
    return text;
  });
  return { bytes: Buffer.concat(all), starts: meant };
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
