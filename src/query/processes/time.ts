import { ALWAYS, type Intervals, within } from '../../base/intervals.ts';
import type { ProcessSet } from './set.ts';

/** A stretch of time in which a process ran while none of its children did. */
interface Stretch {
  process: number;
  from: number;
  to: number;
}

/**
 * Where the time of a job went: its duration divided among its processes, in microseconds. Each moment belongs to the
 * processes that ran then and had no child running (a parent waits for its children), in equal parts. So the parts add
 * up to the time in which anything ran, and the difference between two jobs is the sum of the differences of the parts.
 * With `span`, the same of a part of the job.
 */
export function timeOfProcesses(set: ProcessSet, job: number, span = ALWAYS): Float64Array {
  const { start, end } = set.jobs[job]!;
  const stretches: Stretch[] = [];
  for (let i = 0; i < set.length; i++) {
    if (set.job[i] === job && set.end[i]! > set.start[i]!) addStretches(set, i, stretches);
  }
  const time = new Float64Array(set.length);
  const moments = new Float64Array(stretches.length * 2);
  stretches.forEach(({ from, to }, k) => {
    moments[2 * k] = from;
    moments[2 * k + 1] = to;
  });
  moments.sort();
  // how much time each running process has got at each moment, and how many run from then on
  const running = new Int32Array(moments.length + 1);
  for (const { from, to } of stretches) {
    running[placeOf(moments, from)]!++;
    running[placeOf(moments, to)]!--;
  }
  const given = new Float64Array(moments.length);
  const counted = elapsed(within(span, start, Number.isNaN(end) ? Number.POSITIVE_INFINITY : end));
  for (let k = 0, now = 0, before = counted(moments[0] ?? start); k + 1 < moments.length; k++) {
    now += running[k]!;
    const after = counted(moments[k + 1]!);
    given[k + 1] = given[k]! + (now > 0 ? (after - before) / now : 0);
    before = after;
  }
  for (const { process, from, to } of stretches) {
    time[process]! += given[placeOf(moments, to)]! - given[placeOf(moments, from)]!;
  }
  return time;
}

/** How much of these has passed up to a moment; moments are asked for in their order. */
function elapsed(intervals: Intervals): (moment: number) => number {
  let [k, passed] = [0, 0];
  return (moment) => {
    for (; k < intervals.length && intervals[k]![1] <= moment; k++) passed += intervals[k]![1] - intervals[k]![0];
    return passed + (k < intervals.length ? Math.max(0, moment - intervals[k]![0]) : 0);
  };
}

/** Its life without the lives of its children, which come by their start. */
function addStretches(set: ProcessSet, i: number, into: Stretch[]): void {
  let at = set.start[i]!;
  const end = set.end[i]!;
  for (let c = set.first[i]!; c < set.first[i + 1]! && at < end; c++) {
    const child = set.children[c]!;
    if (!(set.end[child]! > set.start[child]!)) continue;
    if (set.start[child]! > at) into.push({ process: i, from: at, to: Math.min(end, set.start[child]!) });
    at = Math.max(at, set.end[child]!);
  }
  if (at < end) into.push({ process: i, from: at, to: end });
}

/** The first place of a moment that is there. */
function placeOf(moments: Float64Array, wanted: number): number {
  let low = 0;
  let high = moments.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (moments[middle]! < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}
