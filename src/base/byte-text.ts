import { isUtf8 } from 'node:buffer';

const BACKSLASH = 92;
const QUOTE = 39;
const DOLLAR = 36;

/**
 * Bytes that somebody chose (an argument, a path) as text that says them exactly: UTF-8 as it is; anything else as bash
 * would quote it, `$'a\xff'`. What begins like that is quoted, too, so that one is never taken for the other.
 */
export function textOf(bytes: Buffer): string {
  const marked = bytes[0] === DOLLAR && bytes[1] === QUOTE;
  return !marked && isUtf8(bytes) ? bytes.toString('utf8') : quotedBytes(bytes);
}

/** The bytes that a text of `textOf` stands for. */
export function bytesOf(text: string): Buffer {
  if (!text.startsWith("$'") || !text.endsWith("'")) return Buffer.from(text);
  const byteRuns: Buffer[] = [];
  for (const [byteRun, byte, other] of text.slice(2, -1).matchAll(/\\x([0-9a-f]{2})|\\(.)|[^\\]+/gsu)) {
    byteRuns.push(byte === undefined ? Buffer.from(other ?? byteRun) : Buffer.of(Number.parseInt(byte, 16)));
  }
  return Buffer.concat(byteRuns);
}

/** Any bytes, as bash would quote them. */
export function quotedBytes(bytes: Buffer): string {
  let out = "$'";
  for (let at = 0; at < bytes.length; ) {
    const first = bytes[at]!;
    const size = first < 0x80 ? 1 : first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    const character = bytes.subarray(at, at + size);
    if (first === BACKSLASH || first === QUOTE) out += `\\${String.fromCharCode(first)}`;
    else if (character.length === size && isUtf8(character)) out += character.toString('utf8');
    else {
      out += `\\x${first.toString(16)}`;
      at++;
      continue;
    }
    at += size;
  }
  return `${out}'`;
}
