import type { SummaryTableName } from '../tables/summary.ts';
import type { Dialect } from './dialect.ts';

/** A value of a row as an engine gives it; whole numbers are numbers. */
export type Cell = string | number | boolean | null;

/**
 * What stands behind `from`. `days` bounds the days of the rows, in epoch microseconds, where that is known: of a job the
 * day of its end.
 */
export type TableOf = (
  name: SummaryTableName,
  days?: { from?: number | undefined; to?: number | undefined },
  /** Only these files, and in which file and row each row is (`filename`, `file_row_number`): DuckDB alone has that. */
  files?: readonly string[] | 'all',
) => string;

/** Whoever runs the SQL of the questions: DuckDB over files, PostgreSQL, or Spark. Tables are called as in `SUMMARY_TABLES`. */
export interface Engine {
  dialect: Dialect;
  /** Asks once more when what is asked was changed meanwhile. */
  query(make: (table: TableOf) => string): Promise<Record<string, Cell>[]>;
  close(): Promise<void>;
}
