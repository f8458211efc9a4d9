import type { Batch } from '../../recording/read/batch.ts';

/*
 * The one rule of steps: they are aligned to the wall clock (whole multiples of their length since 1970), and a step has its
 * beginning, not its end. A sample belongs to the step of its tick: an agent may wake a little before it.
 */

/** So much of the sampling interval before its tick a sample still belongs to that. */
const EARLY = 0.1;

/** The step that a moment belongs to, counted from 1970; `sampled` is the interval at which agents woke. */
export function tickOf(time: number, step: number, sampled = step): number {
  return Math.floor((time + sampled * EARLY) / step);
}

/** The first microsecond that belongs to a step. */
export function beginOf(tick: number, step: number, sampled = step): number {
  let begin = Math.ceil(tick * step - sampled * EARLY);
  // what the two roundings make of it is decided by the other one
  while (tickOf(begin, step, sampled) < tick) begin++;
  while (tickOf(begin - 1, step, sampled) >= tick) begin--;
  return begin;
}

/** The rows of a batch by series and step; steps without any row are not there. */
export interface Buckets {
  /** Microseconds. */
  step: number;
  length: number;
  /** The first row of each; one more entry ends the last. */
  rows: Uint32Array;
  /** When the step of each begins by the clock, epoch microseconds. */
  time: Float64Array;
  /** The first bucket of each series; one more entry ends the last. */
  series: Uint32Array;
}

/** `step`, and the interval at which samples were taken, are in microseconds. */
export function bucketsOf({ time, series, rows }: Batch, step: number, sampled: number): Buckets {
  const early = Math.min(step, sampled);
  const first: number[] = [];
  const begins: number[] = [];
  const starts = new Uint32Array(series.length);
  for (let s = 0; s + 1 < series.length; s++) {
    starts[s] = first.length;
    const end = series[s + 1]!;
    for (let row = series[s]!; row < end; ) row = addStep(time, row, end, step, early, first, begins);
  }
  starts[series.length - 1] = first.length;
  const { length } = first;
  first.push(rows);
  return {
    step,
    length,
    rows: Uint32Array.from(first),
    time: Float64Array.from(begins),
    series: starts,
  };
}

/** The step that begins with a row; returns the first row of the next one. */
function addStep(
  time: Float64Array,
  from: number,
  end: number,
  step: number,
  early: number,
  first: number[],
  begins: number[],
): number {
  const tick = tickOf(time[from]!, step, early);
  const until = beginOf(tick + 1, step, early);
  first.push(from);
  begins.push(tick * step);
  let row = from + 1;
  while (row < end && time[row]! < until) row++;
  return row;
}
