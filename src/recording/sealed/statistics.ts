import type { KeyName, NumberName, Table, TextName } from '../../table/table.ts';
import type { TableCurve } from './table-curves.ts';

/**
 * What is kept of one column of one series (one GPU, one disk, one process). Times are epoch microseconds.
 * Values are in the column's own unit; rates are per second.
 */
export interface Statistics extends Figures {
  deviation: number;
  p05: number;
  p25: number;
  p50: number;
  p75: number;
  p95: number;
  rate?: NonNullable<Figures['rate']> & { p05: number; p50: number; p95: number };
}

/** The same without how values are spread, which takes longer to find and to read. */
export interface Figures {
  /** Samples with a value, and samples without one. */
  count: number;
  missing: number;
  first: number;
  last: number;
  min: number;
  max: number;
  /** When the maximum was reached first. */
  max_time: number;
  mean: number;
  /** Gauges: area under the curve (unit × seconds), trapezoids between neighbouring samples (held value in sparse tables). */
  integral?: number;
  /** Counters: how much it grew, resets taken into account. */
  increase?: number;
  /** Counters: growth per second between neighbouring samples. */
  rate?: { min: number; max: number; max_time: number; mean: number };
}

/** One series: what it is about, when it was seen, what it showed. */
export interface SeriesStatistics {
  keys: Record<string, string>;
  /** First and last sample. */
  start: number;
  end: number;
  samples: number;
  /** Text columns: the last value that was not empty. */
  texts: Record<string, string>;
  /** Number columns; one without any value in this series is left out. */
  columns: Record<string, Statistics>;
}

/** A series of a table whose definition is known, with those of its columns that are asked for. */
export interface SeriesOf<T extends Table, N extends string = string>
  extends Omit<SeriesStatistics, 'keys' | 'texts' | 'columns'> {
  keys: { [K in KeyName<T>]?: string };
  texts: { [C in Extract<TextName<T>, N>]?: string };
  columns: { [C in Extract<NumberName<T>, N>]?: Figures };
}

/** node=<n>/<table>.stats.json.zst, left by `seal`; the same is computed on the fly for what is not sealed. */
export interface TableStatistics {
  table: string;
  rows: number;
  start: number;
  end: number;
  /** All series, by keys; of processes, those with the most CPU time. */
  series: SeriesStatistics[];
  /** How many series there were before any were left out. */
  series_total: number;
  /** What a few columns did over time, by their names. */
  curves?: Record<string, TableCurve>;
}
