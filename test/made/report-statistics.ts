import type { SeriesStatistics, Statistics, TableStatistics } from '../../src/recording/sealed/statistics.ts';

/** Statistics as a recording would give them, made from the few numbers that a story is about. */

export interface Span {
  /** Epoch microseconds. */
  start: number;
  end: number;
  samples: number;
}

const seconds = (span: Span): number => (span.end - span.start) / 1e6;

/** A level that hovered around its mean. */
export function level(span: Span, mean: number, max = mean, min = Math.min(mean, max)): Statistics {
  return {
    count: span.samples,
    missing: 0,
    first: mean,
    last: mean,
    min,
    max,
    max_time: span.start,
    mean,
    deviation: (max - min) / 4,
    p05: min,
    p25: mean,
    p50: mean,
    p75: mean,
    p95: max,
    integral: mean * seconds(span),
  };
}

/** A level that grew like a straight line. */
export function line(span: Span, from: number, to: number): Statistics {
  const at = (share: number): number => from + (to - from) * share;
  return {
    ...level(span, at(0.5), to, from),
    first: from,
    last: to,
    max_time: span.end,
    p05: at(0.05),
    p25: at(0.25),
    p75: at(0.75),
    p95: at(0.95),
  };
}

/** A counter that grew by so much, at most at this rate a second. */
export function count(span: Span, increase: number, peak?: number): Statistics {
  const mean = seconds(span) > 0 ? increase / seconds(span) : 0;
  return {
    ...level(span, increase / 2, increase, 0),
    first: 0,
    last: increase,
    max_time: span.end,
    increase,
    rate: { min: 0, max: peak ?? mean, max_time: span.start, mean, p05: mean, p50: mean, p95: mean },
  };
}

export function series(
  span: Span,
  keys: Record<string, string>,
  columns: Record<string, Statistics>,
  texts: Record<string, string> = {},
): SeriesStatistics {
  return { keys, start: span.start, end: span.end, samples: span.samples, texts, columns };
}

export function table(name: string, all: SeriesStatistics[]): [string, TableStatistics] {
  return [
    name,
    {
      table: name,
      rows: all.reduce((rows, s) => rows + s.samples, 0),
      start: Math.min(...all.map((s) => s.start)),
      end: Math.max(...all.map((s) => s.end)),
      series: all,
      series_total: all.length,
    },
  ];
}
