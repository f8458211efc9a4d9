import { decoded, decodedArguments } from './text.ts';

/** The fields of one line, which are separated by tabs. */
export interface LineFields {
  /** How many there are, the point at the end included. */
  count(): number;
  /** Was there something else where a number was asked for? */
  damaged(): boolean;
  /** Looks at the line between these places, without its newline. */
  look(bytes: Buffer, from: number, to: number): void;
  /** Does something with another line in place of the current one. */
  using(line: Buffer, action: () => void): void;
  word(i: number): string;
  is(i: number, expected: string): boolean;
  isEmpty(i: number): boolean;
  /** NaN: it is empty. */
  number(i: number): number;
  /** NAME=number; undefined: it is not of this form. */
  named(i: number): readonly [name: string, value: number] | undefined;
  /** What a text says; undefined: it went ahead in lines of its own. */
  text(i: number, field: string): string | undefined;
  /** A copy of the bytes of a field, and of the whole line. */
  bytes(i: number): Buffer;
  line(): Buffer;
  /** Of the line as it was written, with its newlines. */
  length(): number;
}

const TAB = 9;
const EQUALS = 61;
const BACKSLASH = 92;
const LOWER_C = 99;

/** What pieces of a text, or a field, stand for. */
export function decode(field: string, bytes: Buffer, from = 0, to = bytes.length): string {
  return field === 'args' ? decodedArguments(bytes, from, to) : decoded(bytes, from, to);
}

export function lineFields(): LineFields {
  // where the fields begin; one behind the last
  const at = new Int32Array(128);
  let bytes: Buffer = Buffer.alloc(0);
  let count = 0;
  let bad = false;

  const end = (i: number): number => at[i + 1]! - 1;
  const word = (i: number): string => bytes.toString('latin1', at[i]!, end(i));

  function look(line: Buffer, from: number, to: number): void {
    bytes = line;
    bad = false;
    count = 0;
    at[count++] = from;
    for (let p = from; p < to && count < at.length - 1; p++) if (bytes[p] === TAB) at[count++] = p + 1;
    at[count] = to + 1;
  }

  function numberBetween(from: number, to: number): number {
    if (from === to) return Number.NaN;
    let value = 0;
    for (let p = from; p < to; p++) {
      const digit = bytes[p]! - 48;
      if (digit < 0 || digit > 9) {
        bad = true;
        return Number.NaN;
      }
      value = value * 10 + digit;
    }
    return value;
  }

  return {
    count: () => count,
    damaged: () => bad,
    look,
    using(line, action) {
      const before = { bytes, count, at: at.slice() };
      look(line, 0, line.length);
      action();
      bytes = before.bytes;
      count = before.count;
      bad = false;
      at.set(before.at);
    },
    word,
    is: (i, expected) => end(i) - at[i]! === expected.length && word(i) === expected,
    isEmpty: (i) => end(i) === at[i]!,
    number: (i) => numberBetween(at[i]!, end(i)),
    named(i) {
      const equals = bytes.indexOf(EQUALS, at[i]!);
      if (equals < 0 || equals >= end(i)) return undefined;
      return [bytes.toString('latin1', at[i]!, equals), numberBetween(equals + 1, end(i))];
    },
    text(i, field) {
      const from = at[i]!;
      const ahead = end(i) - from === 2 && bytes[from] === BACKSLASH && bytes[from + 1] === LOWER_C;
      return ahead ? undefined : decode(field, bytes, from, end(i));
    },
    bytes(i) {
      // of its own: a short one must not keep the whole pool that it lies in
      const copy = Buffer.allocUnsafeSlow(end(i) - at[i]!);
      bytes.copy(copy, 0, at[i]!, end(i));
      return copy;
    },
    line: () => Buffer.from(bytes.subarray(at[0]!, at[count]! - 1)),
    length: () => at[count]! - at[0]! + 1,
  };
}
