import { isUtf8 } from 'node:buffer';

const BACKSLASH = 92;
const QUOTE = 34;

const ODD = /[\\\u0000-\u001f\u007f]/;
const PIECES = /\\([abfnrtv\\,])|[\u0000-\u001f\u007f]/g;
const CONTROL: Record<string, string> = {
  a: '\\x07',
  b: '\\x08',
  f: '\\x0c',
  n: '\\n',
  r: '\\r',
  t: '\\t',
  v: '\\x0b',
};

/**
 * What a cell of a CSV file means: a backslash escapes a comma, a backslash and control characters. The latter stay
 * written out (`\n`, `\x1b`), so that a text is one line; before anything else a backslash is only that.
 */
export function cellMeaning(cell: string): string {
  if (!ODD.test(cell)) return cell;
  return cell.replace(PIECES, (piece, behind?: string) => {
    if (behind !== undefined) return CONTROL[behind] ?? behind;
    const control = { '\n': 'n', '\r': 'r', '\t': 't' }[piece];
    return control === undefined ? `\\x${piece.charCodeAt(0).toString(16).padStart(2, '0')}` : `\\${control}`;
  });
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

/** The cell with bytes that are no UTF-8 written out: `\xff`. */
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
      out.push(Buffer.from(`\\x${lead.toString(16)}`));
      at++;
    }
  }
  return Buffer.concat(out);
}
