/**
 * Reading numbers out of bytes without making strings. `scan.at` is where the last call stopped, so that calls chain:
 *
 *     const user = number(bytes, 5, end);
 *     const nice = number(bytes, scan.at, end);
 */
export const scan = { at: 0 };

/** The next unsigned whole number at or after `from`; NaN when there is none before `end`. */
export function number(bytes: Uint8Array, from: number, end: number): number {
  let p = from;
  let c = 0;
  while (p < end) {
    c = bytes[p]!;
    if (c >= 48 && c <= 57) break;
    p++;
  }
  if (p >= end) {
    scan.at = end;
    return Number.NaN;
  }
  let value = 0;
  do {
    value = value * 10 + (c - 48);
    c = bytes[++p]!;
  } while (p < end && c >= 48 && c <= 57);
  scan.at = p;
  return value;
}

/** The next number, which may have a sign and a decimal point (`-3`, `0.42`); NaN when there is none. */
export function decimal(bytes: Uint8Array, from: number, end: number): number {
  const whole = number(bytes, from, end);
  if (Number.isNaN(whole)) return whole;
  let first = scan.at - 1;
  while (first >= from && bytes[first]! >= 48 && bytes[first]! <= 57) first--;
  const sign = first >= from && bytes[first] === 45 ? -1 : 1;
  let value = whole;
  if (scan.at < end && bytes[scan.at] === 46) {
    const start = scan.at + 1;
    let p = start;
    let fraction = 0;
    while (p < end && bytes[p]! >= 48 && bytes[p]! <= 57) fraction = fraction * 10 + (bytes[p++]! - 48);
    value += fraction / 10 ** (p - start);
    scan.at = p;
  }
  return sign * value;
}

/** Where the line that contains `from` ends (index of its newline, or `end`). */
export function lineEnd(bytes: Uint8Array, from: number, end: number): number {
  const at = bytes.indexOf(10, from);
  return at < 0 || at > end ? end : at;
}

/** Do the bytes at `at` spell `word`? */
export function spells(bytes: Uint8Array, at: number, word: Uint8Array): boolean {
  for (let i = 0; i < word.length; i++) if (bytes[at + i] !== word[i]) return false;
  return true;
}
