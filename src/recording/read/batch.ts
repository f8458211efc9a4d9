import type { Intervals } from '../../base/intervals.ts';
import type { Column, NameIn, Table } from '../../table/table.ts';

/** Texts as numbers: `values[codes[row]]`. */
export interface TextColumn {
  codes: Uint32Array;
  values: string[];
  /** The same texts as bytes, where they are at hand: whoever writes them needs no strings. */
  bytes?: TextBytes;
}

/** Texts as UTF-8, one behind the other. */
export interface TextBytes {
  bytes: Buffer;
  /** Where each begins; one more entry ends the last. */
  starts: Uint32Array;
}

/** Rows of one table of one node as columns, sorted by keys and time. NaN = missing, '' = missing text. */
export interface Batch {
  table: Table;
  rows: number;
  /** Epoch microseconds. */
  time: Float64Array;
  numbers: Map<string, Float64Array>;
  texts: Map<string, TextColumn>;
  /** Where each series (one combination of keys) begins; one more entry ends the last. */
  series: Uint32Array;
  /** At which its node was sampled, if that is known. */
  interval_seconds?: number;
  /** Of a part: 1 where a row is no sample, but what lies between two of them where the part begins or ends. */
  edges?: Uint8Array;
  /** Of a part that is several stretches of time: the rows where one begins, in every series; one more entry ends the last. */
  stretches?: Uint32Array;
  /** When its node began to be recorded, epoch microseconds, if that is known. */
  began?: number;
}

/** Columns by name, of which only some names are asked for. */
interface Named<N extends string, V> extends Map<string, V> {
  get(name: N): V | undefined;
  has(name: N): boolean;
}

/** A batch of a table whose definition is known. */
export interface BatchOf<T extends Table> extends Batch {
  numbers: Named<NameIn<T>, Float64Array>;
  texts: Named<NameIn<T>, TextColumn>;
}

/** A text of a row; '' where the column is missing, too. */
export function textAt<N extends string>(
  { texts }: { texts: Named<N, TextColumn> },
  name: NoInfer<N>,
  row: number,
): string {
  const column = texts.get(name);
  return column?.values[column.codes[row]!] ?? '';
}

/** The values of the keys of a series, by name. */
export const seriesKeys = (batch: Pick<Batch, 'table' | 'texts' | 'series'>, series: number): Record<string, string> =>
  Object.fromEntries(batch.table.keys.map(({ name }) => [name, textAt(batch, name, batch.series[series]!)]));

export interface ReadOptions<N extends string = string> {
  /** Only these columns (keys and time always come along). */
  columns?: readonly N[];
  /** Epoch microseconds, both included. */
  from?: number;
  to?: number;
  /** The same of several stretches of time. */
  intervals?: Intervals;
}

export const isNumber = (column: Column): boolean => column.type !== 'text';
