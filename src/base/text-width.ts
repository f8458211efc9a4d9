const ESCAPES = /\x1b\[[0-9;]*m/g;

/** Most texts: as wide as they are long. */
const PLAIN = /^[\x20-\x7e]*$/;

/** Places that a text takes on a terminal; colours take none. */
export function textWidth(text: string): number {
  if (PLAIN.test(text)) return text.length;
  let width = 0;
  for (const char of text.replace(ESCAPES, '')) width += wide(char.codePointAt(0)!) ? 2 : 1;
  return width;
}

/** East Asian characters and emoji take two places. */
export function wide(code: number): boolean {
  return (
    (code >= 0x1100 && code <= 0x115f) ||
    (code >= 0x2e80 && code <= 0xa4cf) ||
    (code >= 0xac00 && code <= 0xd7a3) ||
    (code >= 0xf900 && code <= 0xfaff) ||
    (code >= 0xfe30 && code <= 0xfe6f) ||
    (code >= 0xff00 && code <= 0xff60) ||
    (code >= 0x1f300 && code <= 0x1faff) ||
    (code >= 0x20000 && code <= 0x3fffd)
  );
}
