import { processEndTable } from '../../sources/records/tables.ts';
import type { CountedProcesses } from './set.ts';

/** Levels: the highest of any process says more than their sum. */
const { rssmax, virtual_limit_bytes, virtual_peak_bytes } = processEndTable.col;
const HIGHEST = new Set<string>([rssmax.name, virtual_limit_bytes.name, virtual_peak_bytes.name, 'vsize']);

/** Whether values of this metric do not add up. */
export const isLevel = (name: string): boolean => HIGHEST.has(name);

/** Every metric of some processes together: counters added up, of levels the highest. What nobody knows is not there. */
export function metricTotals(set: CountedProcesses, members: ArrayLike<number>): Map<string, number> {
  const totals = new Map<string, number>();
  for (const [name, values] of set.metrics) {
    const total = isLevel(name) ? highestOf(values, members) : sumOf(values, members);
    if (!Number.isNaN(total)) totals.set(name, total);
  }
  return totals;
}

/** NaN when nothing is known. */
export function sumOf(values: Float64Array, members: ArrayLike<number>): number {
  let total = 0;
  let hasValue = false;
  for (let k = 0; k < members.length; k++) {
    const value = values[members[k]!]!;
    if (Number.isNaN(value)) continue;
    total += value;
    hasValue = true;
  }
  return hasValue ? total : Number.NaN;
}

function highestOf(values: Float64Array, members: ArrayLike<number>): number {
  let maximum = Number.NaN;
  for (let k = 0; k < members.length; k++) {
    const value = values[members[k]!]!;
    if (value > maximum || Number.isNaN(maximum)) maximum = value;
  }
  return maximum;
}
