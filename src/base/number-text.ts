/**
 * Numbers and times as text, straight into bytes: an export writes tens of millions of them and must not make a string
 * of each. Every function writes at `at` and returns where it stopped; callers see to it that there is room
 * (`WIDEST` bytes a number).
 */

/** No number and no time takes more bytes than this. */
export const WIDEST = 32;

const TENS = new Uint8Array(100).map((_, n) => 48 + Math.floor(n / 10));
const ONES = new Uint8Array(100).map((_, n) => 48 + (n % 10));
const POWERS = Array.from({ length: 16 }, (_, n) => 10 ** n);
const LARGEST_WHOLE = Number.MAX_SAFE_INTEGER;

/** A number in the shortest form that reads back as the same number; `decimals` is how many digits are expected. */
export function putNumber(bytes: Uint8Array, at: number, value: number, decimals: number): number {
  if (Number.isNaN(value)) return at;
  let start = at;
  let positive = value;
  if (value < 0) {
    bytes[start++] = 45;
    positive = -value;
  }
  // most values are whole and fit 31 bits, where arithmetic is several times as fast
  const small = positive | 0;
  if (small === positive) return putSmall(bytes, start, small);
  if (positive <= LARGEST_WHOLE) {
    if (Math.floor(positive) === positive) return putWhole(bytes, start, positive);
    const power = POWERS[decimals]!;
    const scaled = Math.round(positive * power);
    // equal only if these digits are exactly what the number stands for
    if (scaled <= LARGEST_WHOLE && scaled / power === positive) return putScaled(bytes, start, scaled, decimals);
  }
  const text = String(value);
  for (let i = 0; i < text.length; i++) bytes[at + i] = text.charCodeAt(i);
  return at + text.length;
}

/** A whole number that is not negative, up to 2^53 − 1. */
export function putWhole(bytes: Uint8Array, at: number, value: number): number {
  if (value < 1e9) return putSmall(bytes, at, value | 0);
  const high = Math.floor(value / 1e9);
  return putPadded(bytes, putSmall(bytes, at, high), (value - high * 1e9) | 0, 9);
}

/** `count` digits with leading zeros. */
export function putPadded(bytes: Uint8Array, at: number, value: number, count: number): number {
  let rest = value | 0;
  let p = at + count;
  while (p - at >= 2) {
    const hundredth = (rest / 100) | 0;
    const pair = rest - hundredth * 100;
    bytes[--p] = ONES[pair]!;
    bytes[--p] = TENS[pair]!;
    rest = hundredth;
  }
  if (p > at) bytes[at] = 48 + rest;
  return at + count;
}

function putSmall(bytes: Uint8Array, at: number, value: number): number {
  if (value < 10) {
    bytes[at] = 48 + value;
    return at + 1;
  }
  let count = 2;
  if (value >= 100000) {
    if (value >= 10000000) count = value >= 1000000000 ? 10 : value >= 100000000 ? 9 : 8;
    else count = value >= 1000000 ? 7 : 6;
  } else if (value >= 1000) count = value >= 10000 ? 5 : 4;
  else if (value >= 100) count = 3;
  return putPadded(bytes, at, value, count);
}

function putScaled(bytes: Uint8Array, at: number, scaled: number, decimals: number): number {
  const power = POWERS[decimals]!;
  const whole = Math.floor(scaled / power);
  let rest = scaled - whole * power;
  let count = decimals;
  while (rest % 10 === 0) {
    rest /= 10;
    count--;
  }
  let p = putWhole(bytes, at, whole);
  bytes[p++] = 46;
  if (count <= 9) return putPadded(bytes, p, rest, count);
  const high = Math.floor(rest / 1e9);
  p = putPadded(bytes, p, high, count - 9);
  return putPadded(bytes, p, rest - high * 1e9, 9);
}

/** A number that always shows a decimal point (`100.0`), as programs write that know floating point only. */
export function putFloat(bytes: Uint8Array, at: number, value: number, decimals: number): number {
  const end = putNumber(bytes, at, value, decimals);
  if (end === at || Math.floor(value) !== value || Math.abs(value) >= 1e16) return end;
  bytes[end] = 46;
  bytes[end + 1] = 48;
  return end + 2;
}

let day = Number.NaN;
const dayText = new Uint8Array(10);

/** The date of epoch microseconds, UTC: 2026-01-31. */
function putDate(bytes: Uint8Array, at: number, days: number): number {
  if (days !== day) {
    const date = new Date(days * 86_400_000);
    putPadded(dayText, 0, date.getUTCFullYear(), 4);
    dayText[4] = 45;
    putPadded(dayText, 5, date.getUTCMonth() + 1, 2);
    dayText[7] = 45;
    putPadded(dayText, 8, date.getUTCDate(), 2);
    day = days;
  }
  for (let i = 0; i < 10; i++) bytes[at + i] = dayText[i]!;
  return at + 10;
}

/**
 * Epoch microseconds as UTC with so many digits after the second (0, 3 or 6); `separator` stands between day and time.
 * A moment that is no number is left empty.
 */
export function putTime(bytes: Uint8Array, at: number, time: number, separator: number, fraction: 0 | 3 | 6): number {
  if (Number.isNaN(time)) return at;
  const seconds = Math.floor(time / 1e6);
  const days = Math.floor(seconds / 86_400);
  const second = seconds - days * 86_400;
  const hour = (second / 3600) | 0;
  const minute = ((second - hour * 3600) / 60) | 0;
  let p = putDate(bytes, at, days);
  bytes[p++] = separator;
  p = putPadded(bytes, p, hour, 2);
  bytes[p++] = 58;
  p = putPadded(bytes, p, minute, 2);
  bytes[p++] = 58;
  p = putPadded(bytes, p, second - hour * 3600 - minute * 60, 2);
  if (fraction === 0) return p;
  bytes[p++] = 46;
  const micros = Math.floor(time - seconds * 1e6);
  return putPadded(bytes, p, fraction === 6 ? micros : (micros / 1000) | 0, fraction);
}

/** ISO 8601 in UTC with microseconds: 2026-01-31T23:59:59.000000Z. */
export function putIso(bytes: Uint8Array, at: number, time: number): number {
  const end = putTime(bytes, at, time, 84, 6);
  if (end === at) return at;
  bytes[end] = 90;
  return end + 1;
}
