import { TextPool } from './text-pool.ts';

/**
 * Rows of one table as they come out of its files, in the order of the files. Columns appear when a file has them;
 * rows from files without them are missing there.
 */
export class Rows {
  length = 0;
  capacity = 0;
  time = new Float64Array(0);
  readonly numbers = new Map<string, Float64Array>();
  readonly texts = new Map<string, { codes: Uint32Array; pool: TextPool }>();

  /** Makes room for `more` rows beyond those there are. */
  reserve(more: number): void {
    if (this.length + more <= this.capacity) return;
    const { length } = this;
    this.capacity = Math.max(length + more, this.capacity * 2);
    this.time = grown(this.time, new Float64Array(this.capacity), length);
    for (const [name, old] of this.numbers)
      this.numbers.set(name, grown(old, new Float64Array(this.capacity), length).fill(Number.NaN, length));
    // code 0 is the empty text, which is "missing"
    for (const text of this.texts.values()) text.codes = grown(text.codes, new Uint32Array(this.capacity), length);
  }

  /** `written`: so many of the first rows get their values at once. */
  addNumber(name: string, written = 0): void {
    if (!this.numbers.has(name)) this.numbers.set(name, new Float64Array(this.capacity).fill(Number.NaN, written));
  }

  addText(name: string): void {
    if (this.texts.has(name)) return;
    const pool = new TextPool();
    pool.codeOf('');
    this.texts.set(name, { codes: new Uint32Array(this.capacity), pool });
  }

  /** Takes back what was written into the row behind the last one. */
  clearRow(): void {
    for (const numbers of this.numbers.values()) numbers[this.length] = Number.NaN;
    for (const text of this.texts.values()) text.codes[this.length] = 0;
  }
}

/** The first `length` values in a larger array. Where there are none, V8 need not make a part of the old one. */
function grown<T extends Float64Array | Uint32Array>(old: T, larger: T, length: number): T {
  if (length > 0) larger.set(old.subarray(0, length));
  return larger;
}
