import { inBlocks } from '../../base/blocks.ts';
import type { Batch } from './batch.ts';

/*
 * The one rule of steps: they are aligned to the wall clock (whole multiples of their length since 1970), and a step has its
 * beginning, not its end. A sample belongs to the step of its tick: an agent may wake a little before it.
 */

/** Share of the interval before a tick in which a sample belongs to that tick. */
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
  const most = Math.min(rows, stepsAtMost(time, series, step));
  const steps: Steps = {
    step,
    early,
    rows: new Uint32Array(most + 1),
    time: new Float64Array(most),
    length: 0,
    isWhole: Number.isInteger(step) && Number.isInteger(early * EARLY),
    tick: 0,
    until: Number.NEGATIVE_INFINITY,
    usual: 1,
  };
  const starts = new Uint32Array(series.length);
  for (let s = 0; s + 1 < series.length; s++) {
    starts[s] = steps.length;
    steps.until = Number.NEGATIVE_INFINITY;
    inBlocks(series[s]!, series[s + 1]!, addSteps, time, steps);
  }
  const { length } = steps;
  starts[series.length - 1] = length;
  steps.rows[length] = rows;
  return {
    step,
    length,
    rows: steps.rows.subarray(0, length + 1),
    time: steps.time.subarray(0, length),
    series: starts,
  };
}

/** Buckets so far; of the last one its tick, when it ends, and how many rows the one before it had. */
interface Steps extends Omit<Buckets, 'series'> {
  early: number;
  isWhole: boolean;
  tick: number;
  until: number;
  usual: number;
}

function addSteps(from: number, to: number, time: Float64Array, steps: Steps): undefined {
  let row = from;
  while (row < to) {
    const { until } = steps;
    while (row < to && time[row]! < until) row++;
    if (row === to) return;
    addStep(row, time[row]!, steps);
    // most steps have as many rows as the one before: then only its last row is looked at
    const usual = row + steps.usual;
    if (usual < to && time[usual]! >= steps.until && time[usual - 1]! < steps.until) row = usual;
    else row++;
  }
}

function addStep(row: number, moment: number, steps: Steps): void {
  const { step, early, until } = steps;
  let tick = steps.tick + 1;
  // of whole microseconds one step after the other is found without dividing
  if (steps.isWhole && moment >= until && moment < until + step) steps.until = until + step;
  else {
    tick = tickOf(moment, step, early);
    steps.until = beginOf(tick + 1, step, early);
  }
  steps.tick = tick;
  if (steps.length > 0) steps.usual = Math.max(1, row - steps.rows[steps.length - 1]!);
  steps.rows[steps.length] = row;
  steps.time[steps.length++] = tick * step;
}

function stepsAtMost(time: Float64Array, series: Uint32Array, step: number): number {
  let steps = 0;
  for (let s = 0; s + 1 < series.length; s++)
    if (series[s]! < series[s + 1]!) steps += Math.ceil((time[series[s + 1]! - 1]! - time[series[s]!]!) / step) + 2;
  return steps;
}
