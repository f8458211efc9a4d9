import { grown } from './edges.ts';

/**
 * Ticks are whole multiples of their interval; the first and the last sample, and ticks that are late, lie beside them.
 * Time is cut into cells, each with one such multiple in its middle, and rates are taken from the last sample of a cell to
 * that of the next one that has any: a little growth between two samples that happen to be close together is no peak. What
 * grew in the first cell is a rate of its own when half an interval passed, and else one with the next cell; so is a last
 * sample with the cell before it. These two may be the highest and the lowest, but are no part of percentiles, which are of
 * whole cells. Moments count in whole milliseconds, which is all that a store has of them: its samples give the same cells.
 */

/** How far behind the multiple in its middle a cell ends; that moment is the last in it. */
const cellEnd = (interval: number): number => Math.max(1, Math.floor(interval / 2) - 1);

/** The number of the cell that a moment, in epoch microseconds, lies in: the multiple in its middle. */
const cellOf = (time: number, interval: number): number =>
  Math.ceil((Math.floor(time / 1000) - cellEnd(interval)) / interval);

/** Whether less than half an interval lies between two moments in epoch microseconds: too little for a rate. */
export const isShort = (from: number, to: number, interval: number): boolean =>
  (Math.floor(to / 1000) - Math.floor(from / 1000)) * 2 < interval;

/** Values of a counter without those that are missing, from place `first` to place `last`. */
export interface CounterValues {
  values: Float64Array;
  /** Epoch microseconds. */
  times: Float64Array;
  first: number;
  last: number;
  sparse: boolean;
  /** At which it was sampled, milliseconds; 0 when nobody knows: then rates are from sample to sample. */
  interval: number;
}

export interface RateTaker {
  /** What it grew by in a second from sample `from` to sample `to`. */
  rate(rate: number, from: number, to: number): void;
  /** The same of the first or the last cell, which may be the highest or the lowest, but is in no mean. */
  look(rate: number, time: number): void;
}

/** Hands over the rates of a counter, and returns what it grew by. In a sparse table rates are over at least half an interval. */
export function eachRate(
  { values, times, first, last: end, sparse, interval }: CounterValues,
  taker: RateTaker,
): number {
  const shortest = sparse ? interval * 500 : 0;
  const cells = !sparse && interval > 0;
  const rateOf = (growth: number, from: number, to: number): number => growth / ((times[to]! - times[from]!) / 1e6);
  let increase = 0;
  // the last sample of the cell before, what was grown until then, and the same of the cell before that
  let last = cells ? -1 : first;
  let until = 0;
  let second = -1;
  let secondUntil = 0;
  let begun = false;
  for (let i = cells ? first : first + 1; i <= end; i++) {
    if (i > first) increase += grown(values[i - 1]!, values[i]!);
    // another sample follows in the same cell
    const near = cells && i < end && times[i + 1]! - times[i]! < interval * 1000;
    if (near && cellOf(times[i + 1]!, interval) === cellOf(times[i]!, interval)) continue;
    if (cells && !begun && !isShort(times[first]!, times[i]!, interval)) {
      begun = true;
      taker.look(rateOf(increase, first, i), times[i]!);
    }
    const before = until;
    let from = last;
    let growth = increase - until;
    last = i;
    until = increase;
    if (from < 0) continue;
    if (cells && i === end && isShort(times[from]!, times[i]!, interval)) {
      // the end is counted with the cell before it
      if (second >= 0) taker.look(rateOf(increase - secondUntil, second, i), times[i]!);
      break;
    }
    second = from;
    secondUntil = before;
    for (; from > first && times[i]! - times[from]! < shortest; from--)
      growth += grown(values[from - 1]!, values[from]!);
    if (times[i]! - times[from]! < shortest) continue;
    taker.rate(rateOf(growth, from, i), from, i);
  }
  return increase;
}
