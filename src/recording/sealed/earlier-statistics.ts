import type { SeriesStatistics, Statistics } from './statistics.ts';
import type { StatisticsFile } from './statistics-file.ts';

/** These were left out where they were as `min` is. */
const AS_MIN = ['first', 'last', 'max', 'mean', 'p05', 'p25', 'p50', 'p75', 'p95'] as const;
const RATE_AS_MIN = ['max', 'mean', 'p05', 'p50', 'p95'] as const;

type Short<T> = { [K in keyof T]?: T[K] | undefined };
type ShortColumn = Omit<Short<Statistics>, 'rate'> & { rate?: Short<NonNullable<Statistics['rate']>> };

interface ShortSeries extends Omit<SeriesStatistics, 'columns'> {
  columns: Record<string, ShortColumn>;
}

/** Statistics as earlier versions left them: one object, with everything of one series after the other. */
export function parseEarlier(text: string): StatisticsFile | undefined {
  const statistics = JSON.parse(text) as StatisticsFile;
  if (!Array.isArray(statistics.series) || !statistics.series.every(isSeries)) return undefined;
  statistics.series.forEach(restored);
  return statistics;
}

function isSeries(each: SeriesStatistics): boolean {
  if (!isPlain(each) || !isNumber(each.start) || !isNumber(each.end) || !isNumber(each.samples)) return false;
  if (!isPlain(each.keys) || !isPlain(each.texts) || !isPlain(each.columns)) return false;
  const texts = [...Object.values(each.keys), ...Object.values(each.texts)];
  return (
    texts.every((value) => typeof value === 'string') &&
    Object.values(each.columns).every((column) => isPlain(column) && areNumbers(column))
  );
}

const areNumbers = ({ rate = {}, ...figures }: ShortColumn): boolean =>
  isPlain(rate) && [...Object.values(figures), ...Object.values(rate)].every(isNumber);

/** Or null, which JSON makes of what is no number; or missing, where it is left out. */
const isNumber = (value: unknown): boolean => typeof value === 'number' || value === null || value === undefined;

const isPlain = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A series as it was before it was shortened; one that never was stays as it is. */
function restored(series: ShortSeries): void {
  for (const column of Object.values(series.columns)) {
    // null is what JSON makes of NaN: that was there
    if (column.count === undefined) column.count = series.samples;
    if (column.missing === undefined) column.missing = 0;
    if (column.deviation === undefined) column.deviation = 0;
    if (column.max_time === undefined) column.max_time = series.start;
    for (const key of AS_MIN) if (column[key] === undefined) column[key] = column.min;
    const { rate } = column;
    if (rate !== undefined) for (const key of RATE_AS_MIN) if (rate[key] === undefined) rate[key] = rate.min;
  }
}
