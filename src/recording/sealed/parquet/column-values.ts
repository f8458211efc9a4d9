/** Rows of a file that follow each other. */
export type Stretch = readonly [first: number, end: number];

/** Says which of the next rows of a file nobody wants. */
export interface Wanting {
  /** Whether none of the next so many rows is wanted; then the one after these is next. */
  passesOver(rows: number): boolean;
}

/** Room that is used again: new memory takes longer than what is read into it. */
class Room<T extends Float64Array | Uint32Array> {
  #room: T;
  readonly #make: (rows: number) => T;

  constructor(make: (rows: number) => T) {
    this.#make = make;
    this.#room = make(0);
  }

  of(rows: number): T {
    if (rows > this.#room.length) this.#room = this.#make(rows);
    return this.#room.subarray(0, rows) as T;
  }
}

const ofNumbers = new Room((rows) => new Float64Array(rows));
const ofCodes = new Room((rows) => new Uint32Array(rows));

/** Where the values of a column go, a page at a time: all of them, or those of some stretches, one behind the other. */
export class ColumnValues<T extends Float64Array | Uint32Array> implements Wanting {
  readonly #into: T;
  readonly #stretches: readonly Stretch[] | undefined;
  /** The next place to fill, the next row of the file, and the first stretch that does not end before it. */
  #at: number;
  #row = 0;
  #next = 0;
  #page: T | undefined;

  constructor(into: T, start: number, stretches: readonly Stretch[] | undefined) {
    this.#into = into;
    this.#at = start;
    this.#stretches = stretches;
  }

  passesOver(rows: number): boolean {
    if (this.#stretches === undefined) return false;
    const next = this.#stretches[this.#next];
    if (next !== undefined && next[0] < this.#row + rows) return false;
    this.#row += rows;
    return true;
  }

  /** Room for the values of the next page, until they are taken. */
  room(rows: number): T {
    if (this.#stretches === undefined) {
      if (this.#at + rows > this.#into.length) throw new Error('it has more rows than it says');
      this.#page = this.#into.subarray(this.#at, this.#at + rows) as T;
    } else this.#page = (this.#into instanceof Float64Array ? ofNumbers.of(rows) : ofCodes.of(rows)) as T;
    return this.#page;
  }

  /** Takes what was put there. */
  take(): void {
    const page = this.#page!;
    const begin = this.#row;
    this.#row += page.length;
    if (this.#stretches === undefined) {
      this.#at += page.length;
      return;
    }
    for (let stretch = this.#stretches[this.#next]; stretch !== undefined; stretch = this.#stretches[++this.#next]) {
      const [first, end] = [Math.max(stretch[0], begin), Math.min(stretch[1], this.#row)];
      if (first >= end) return;
      this.#into.set(page.subarray(first - begin, end - begin), this.#at);
      this.#at += end - first;
      if (stretch[1] > this.#row) return;
    }
  }
}
