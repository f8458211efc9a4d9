import type { Table } from './table.ts';

/**
 * The rows of one table at one tick, reused from tick to tick so that sampling allocates nothing.
 * Numbers (NaN = missing) and texts lie in two flat arrays:
 *
 *     const r = frame.row();                       // a new row, all missing
 *     frame.texts[r * frame.textWidth + 0] = 'sda';        // keys first, then text columns, in the table's order
 *     frame.numbers[r * frame.numberWidth + 2] = 17;        // number columns, in the table's order
 */
export class Frame {
  readonly table: Table;
  /** Epoch microseconds at which the rows were read. */
  time = 0;
  rows = 0;
  numbers: Float64Array;
  texts: string[];
  /** Tables of events only: when each row happened, instead of `time`. */
  times: Float64Array | undefined;
  readonly numberWidth: number;
  readonly textWidth: number;
  /** For each column of the table: its place among the numbers, or −1 − its place among the texts. */
  readonly indexes: readonly number[];

  constructor(table: Table) {
    this.table = table;
    let number = 0;
    let word = table.keys.length;
    this.indexes = table.columns.map((c) => (c.type === 'text' ? -1 - word++ : number++));
    this.numberWidth = number;
    this.textWidth = word;
    this.numbers = new Float64Array(Math.max(1, number) * 8).fill(Number.NaN);
    this.texts = [];
    this.times = table.events === true ? new Float64Array(8) : undefined;
  }

  clear(time: number): void {
    this.numbers.fill(Number.NaN, 0, this.rows * this.numberWidth);
    this.rows = 0;
    this.time = time;
  }

  /** Adds a row of missing values and returns its index. */
  row(): number {
    const r = this.rows++;
    if (this.rows * this.numberWidth > this.numbers.length) {
      const grown = new Float64Array(this.numbers.length * 2).fill(Number.NaN);
      grown.set(this.numbers);
      this.numbers = grown;
    }
    const t = r * this.textWidth;
    for (let i = 0; i < this.textWidth; i++) this.texts[t + i] = '';
    if (this.times !== undefined) this.setTime(r);
    return r;
  }

  /** Takes back the newest row (its owner vanished while it was read). */
  drop(): void {
    this.rows--;
    this.numbers.fill(Number.NaN, this.rows * this.numberWidth, (this.rows + 1) * this.numberWidth);
  }

  /** Hands all rows over to a frame of the same table that has none, and goes on with what that one had room in. */
  giveTo(other: Frame): void {
    [other.numbers, this.numbers] = [this.numbers, other.numbers];
    [other.texts, this.texts] = [this.texts, other.texts];
    [other.times, this.times] = [this.times, other.times];
    [other.rows, this.rows] = [this.rows, other.rows];
  }

  private setTime(row: number): void {
    if (row === this.times!.length) {
      const grown = new Float64Array(row * 2);
      grown.set(this.times!);
      this.times = grown;
    }
    this.times![row] = this.time;
  }

  /** Place of a number column among the numbers: look it up once, when the source opens. */
  number(column: string): number {
    const at = this.indexes[this.table.columns.findIndex((c) => c.name === column)];
    if (at === undefined || at < 0) throw new Error(`${this.table.name} has no number column ${column}`);
    return at;
  }

  /** Place of a key or text column among the texts. */
  text(name: string): number {
    const key = this.table.keys.findIndex((k) => k.name === name);
    if (key >= 0) return key;
    const at = this.indexes[this.table.columns.findIndex((c) => c.name === name)];
    if (at === undefined || at >= 0) throw new Error(`${this.table.name} has no text column ${name}`);
    return -1 - at;
  }
}
