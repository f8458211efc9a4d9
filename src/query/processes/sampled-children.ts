import { SAMPLE_CLOCK } from '../../sources/process/same-process.ts';
import type { ProcessMetric } from '../../sources/records/tables.ts';
import { CPU_TIMES, type ProcessColumns } from './set.ts';
import { parentsOf } from './tree.ts';

/** What is then of nobody alone: the kernel adds it up, or keeps the largest. */
const MIXED: ProcessMetric[] = ['rssmax', 'minflt', 'majflt', 'inblock', 'outblock', 'vol_ctxsw', 'invol_ctxsw'];

/**
 * What is told of a process by who waited for it holds what its children used that it waited for itself. Those that left a
 * record are taken out of it as it is read; here those go that only sampling saw, so that nothing is counted twice.
 */
export function takeSampledOut(columns: ProcessColumns): void {
  const { source, end, metrics } = columns;
  const times = CPU_TIMES.map((name) => metrics.get(name));
  const others = MIXED.map((name) => metrics.get(name));
  if (!source.includes('parent') || !source.some(isSampled)) return;
  const parent = parentsOf(columns);
  for (let i = 0; i < columns.length; i++) {
    if (!isSampled(source[i]!)) continue;
    let above = parent[i]!;
    while (above >= 0 && isSampled(source[above]!)) above = parent[above]!;
    // one that lived on was not waited for
    if (above < 0 || source[above] !== 'parent' || !(end[i]! <= end[above]! + SAMPLE_CLOCK)) continue;
    for (const values of times) {
      if (values === undefined || Number.isNaN(values[i]!)) continue;
      values[above] = Math.max(0, values[above]! - values[i]!);
    }
    for (const values of others) if (values !== undefined) values[above] = Number.NaN;
  }
}

const isSampled = (source: string): boolean => source === 'sample' || source === 'start';
