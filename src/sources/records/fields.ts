import { decoded, decodedArguments } from './text.ts';

const TAB = 9;
const EQUALS = 61;
const BACKSLASH = 92;
const LOWER_C = 99;

/** What pieces of a text, or a field, stand for. */
export function decode(field: string, bytes: Buffer, from = 0, to = bytes.length): string {
  return field === 'args' ? decodedArguments(bytes, from, to) : decoded(bytes, from, to);
}

/** The fields of one line, which are separated by tabs. */
export class LineFields {
  /** How many there are, the point at the end included. */
  count = 0;
  /** Was there something else where a number was asked for? */
  damaged = false;
  private bytes: Buffer = Buffer.alloc(0);
  /** Where they begin; one behind the last. */
  private readonly at = new Int32Array(128);

  /** Looks at the line between these places, without its newline. */
  look(line: Buffer, from: number, to: number): void {
    const { at } = this;
    let count = 0;
    at[count++] = from;
    for (let p = from; p < to && count < at.length - 1; p++) if (line[p] === TAB) at[count++] = p + 1;
    at[count] = to + 1;
    this.bytes = line;
    this.count = count;
    this.damaged = false;
  }

  /** Does something with another line in place of the current one. */
  using<T>(line: Buffer, action: () => T): T {
    const { bytes, count } = this;
    const at = this.at.slice();
    this.look(line, 0, line.length);
    const done = action();
    this.bytes = bytes;
    this.count = count;
    this.damaged = false;
    this.at.set(at);
    return done;
  }

  private end(i: number): number {
    return this.at[i + 1]! - 1;
  }

  word(i: number): string {
    return this.bytes.toString('latin1', this.at[i]!, this.end(i));
  }

  is(i: number, expected: string): boolean {
    return this.end(i) - this.at[i]! === expected.length && this.word(i) === expected;
  }

  isEmpty(i: number): boolean {
    return this.end(i) === this.at[i]!;
  }

  /** NaN: it is empty. */
  number(i: number): number {
    return this.numberBetween(this.at[i]!, this.end(i));
  }

  private numberBetween(from: number, to: number): number {
    if (from === to) return Number.NaN;
    let value = 0;
    for (let p = from; p < to; p++) {
      const digit = this.bytes[p]! - 48;
      if (digit < 0 || digit > 9) {
        this.damaged = true;
        return Number.NaN;
      }
      value = value * 10 + digit;
    }
    return value;
  }

  /** NAME=number; undefined: it is not of this form. */
  named(i: number): readonly [name: string, value: number] | undefined {
    const equals = this.bytes.indexOf(EQUALS, this.at[i]!);
    if (equals < 0 || equals >= this.end(i)) return undefined;
    return [this.bytes.toString('latin1', this.at[i]!, equals), this.numberBetween(equals + 1, this.end(i))];
  }

  /** What a text says; undefined: it went ahead in lines of its own. */
  text(i: number, field: string): string | undefined {
    const from = this.at[i]!;
    const to = this.end(i);
    const ahead = to - from === 2 && this.bytes[from] === BACKSLASH && this.bytes[from + 1] === LOWER_C;
    return ahead ? undefined : decode(field, this.bytes, from, to);
  }

  copy(i: number): Buffer {
    // of its own: a short one must not keep the whole pool that it lies in
    const copy = Buffer.allocUnsafeSlow(this.end(i) - this.at[i]!);
    this.bytes.copy(copy, 0, this.at[i]!, this.end(i));
    return copy;
  }

  /** A copy of the whole line. */
  line(): Buffer {
    return Buffer.from(this.bytes.subarray(this.at[0]!, this.at[this.count]! - 1));
  }

  /** Of the line as it was written, with its newlines. */
  length(): number {
    return this.at[this.count]! - this.at[0]! + 1;
  }
}
