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
    this.capacity = Math.max(this.length + more, this.capacity * 2);
    const time = new Float64Array(this.capacity);
    time.set(this.time.subarray(0, this.length));
    this.time = time;
    for (const [name, old] of this.numbers) {
      const grown = new Float64Array(this.capacity);
      grown.set(old.subarray(0, this.length));
      this.numbers.set(name, grown.fill(Number.NaN, this.length));
    }
    for (const text of this.texts.values()) {
      const grown = new Uint32Array(this.capacity);
      grown.set(text.codes.subarray(0, this.length));
      // code 0 is the empty text, which is "missing"
      text.codes = grown;
    }
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
