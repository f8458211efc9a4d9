import { inBlocks } from '../../../base/blocks.ts';
import type { Stretch } from './column-values.ts';
import { DeltaBlocks } from './decode.ts';

/** Collects the rows of a file whose times lie between two moments, both included, and those times. */
export class Within {
  readonly stretches: Stretch[] = [];
  readonly #from: number;
  readonly #to: number;
  readonly #times: Float64Array[] = [];
  /** The next row of the file. */
  #row = 0;

  constructor(from: number, to: number) {
    this.#from = from;
    this.#to = to;
  }

  get time(): Float64Array {
    const time = new Float64Array(this.#times.reduce((sum, { length }) => sum + length, 0));
    let at = 0;
    for (const each of this.#times) {
      time.set(each, at);
      at += each.length;
    }
    return time;
  }

  passOver(rows: number): void {
    this.#row += rows;
  }

  look(times: Float64Array): void {
    const { length } = times;
    for (let first = 0; first < length; ) {
      first = inBlocks(first, length, outsideUntil, times, this.#from, this.#to);
      const end = inBlocks(first, length, insideUntil, times, this.#from, this.#to);
      if (end > first) this.#add(times.slice(first, end), this.#row + first);
      first = end;
    }
    this.#row += length;
  }

  /** The same of times that are stored as differences, without room for all of them. */
  lookAtDeltas(bytes: Buffer, count: number): void {
    if (count === 0) return;
    const blocks = new DeltaBlocks(bytes, count);
    const times = new Float64Array(Math.min(blocks.size, count) + 1);
    times[0] = blocks.first;
    this.look(times.subarray(0, 1));
    for (let left = count - 1; left > 0; ) {
      const end = blocks.next(times, 1);
      const [first, last] = [times[1]!, times[end - 1]!];
      // where no time is before the one before it, the first and the last say enough
      if (blocks.least >= 0 && (last < this.#from || first > this.#to)) this.#row += end - 1;
      else this.look(times.subarray(1, end));
      times[0] = last;
      left -= end - 1;
    }
  }

  #add(times: Float64Array, row: number): void {
    this.#times.push(times);
    const last = this.stretches.at(-1);
    if (last?.[1] === row) this.stretches[this.stretches.length - 1] = [last[0], row + times.length];
    else this.stretches.push([row, row + times.length]);
  }
}

function outsideUntil(first: number, end: number, times: Float64Array, from: number, to: number): number {
  let i = first;
  while (i < end && !(times[i]! >= from && times[i]! <= to)) i++;
  return i;
}

function insideUntil(first: number, end: number, times: Float64Array, from: number, to: number): number {
  let i = first;
  while (i < end && times[i]! >= from && times[i]! <= to) i++;
  return i;
}
