import { columnNamed } from './columns.ts';
import type { ProcessSet } from './set.ts';

/** Columns that one reads upwards; of all others the largest come first. */
const UPWARDS = new Set(['start', 'end', 'pid', 'ppid', 'depth', 'parent']);

/** Compares places by a column; missing values come last, equals in the order of job, start and pid. */
export function sortProcesses(set: ProcessSet, name: string): (a: number, b: number) => number {
  const column = columnNamed(set, name);
  const ties = (a: number, b: number): number =>
    set.job[a]! - set.job[b]! || set.start[a]! - set.start[b]! || set.pid[a]! - set.pid[b]! || a - b;
  if (column.kind === 'text') {
    return (a, b) => {
      const [left, right] = [column.text(a), column.text(b)];
      return Number(left === '') - Number(right === '') || (left < right ? -1 : left > right ? 1 : ties(a, b));
    };
  }
  const sign = UPWARDS.has(column.name) ? 1 : -1;
  const values = Float64Array.from({ length: set.length }, (_, i) => column.number(i));
  return (a, b) => {
    const [left, right] = [values[a]!, values[b]!];
    const lack = Number(Number.isNaN(left)) - Number(Number.isNaN(right));
    return lack !== 0 ? lack : sign * (left - right) || ties(a, b);
  };
}
