const UNPRINTABLE = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g;

/** Text that others chose (names, arguments) without what would break a line or a terminal: control characters are written out. */
export function printable(text: string): string {
  if (text.search(UNPRINTABLE) < 0) return text;
  return text.replace(UNPRINTABLE, (c) => {
    if (c === '\n') return '\\n';
    if (c === '\t') return '\\t';
    return `\\x${c.charCodeAt(0).toString(16).padStart(2, '0')}`;
  });
}
