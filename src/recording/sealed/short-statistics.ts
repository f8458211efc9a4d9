import type { SeriesStatistics, Statistics } from './statistics.ts';

/** In a file these are left out where they are as `min` is: most columns of most recordings never change. */
const AS_MIN = ['first', 'last', 'max', 'mean', 'p05', 'p25', 'p50', 'p75', 'p95'] as const;
const RATE_AS_MIN = ['max', 'mean', 'p05', 'p50', 'p95'] as const;

type Short<T> = { [K in keyof T]?: T[K] | undefined };
type ShortColumn = Omit<Short<Statistics>, 'rate'> & { rate?: Short<NonNullable<Statistics['rate']>> };

export interface ShortSeries extends Omit<SeriesStatistics, 'columns'> {
  columns: Record<string, ShortColumn>;
}

/** A series without what can be told from the rest. */
export function shortened(series: SeriesStatistics): ShortSeries {
  const columns: Record<string, ShortColumn> = {};
  for (const [name, full] of Object.entries(series.columns)) {
    const column: ShortColumn = { ...full };
    if (full.count === series.samples) delete column.count;
    if (full.missing === 0) delete column.missing;
    if (full.deviation === 0) delete column.deviation;
    if (full.max_time === series.start) delete column.max_time;
    for (const key of AS_MIN) if (full[key] === full.min) delete column[key];
    if (full.rate !== undefined) {
      column.rate = { ...full.rate };
      for (const key of RATE_AS_MIN) if (full.rate[key] === full.rate.min) delete column.rate[key];
    }
    columns[name] = column;
  }
  return { ...series, columns };
}

/** A series as it was before it was shortened; one that never was stays as it is. */
export function restored(series: ShortSeries): SeriesStatistics {
  for (const name in series.columns) {
    const column = series.columns[name]!;
    // null is what JSON makes of NaN: that was there
    if (column.count === undefined) column.count = series.samples;
    if (column.missing === undefined) column.missing = 0;
    if (column.deviation === undefined) column.deviation = 0;
    if (column.max_time === undefined) column.max_time = series.start;
    for (const key of AS_MIN) if (column[key] === undefined) column[key] = column.min;
    const { rate } = column;
    if (rate !== undefined) for (const key of RATE_AS_MIN) if (rate[key] === undefined) rate[key] = rate.min;
  }
  return series as SeriesStatistics;
}
