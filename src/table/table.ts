import type { Unit } from './unit.ts';

/** gauge: a level now. counter: only grows while its owner lives; differences matter. info: describes, is not measured. */
export type Kind = 'gauge' | 'counter' | 'info';

export type ColumnType = 'int' | 'float' | 'text';

export interface Column {
  /** Lower case words and the unit's suffix (`memory_used_bytes`), or the kernel's own name plus suffix (`MemFree_bytes`). */
  readonly name: string;
  readonly type: ColumnType;
  readonly unit: Unit;
  readonly kind: Kind;
  /** One sentence for the metric reference, tooltips and exposition. */
  readonly help: string;
  /** float only: digits after the point that are kept (default 3). */
  readonly decimals?: number;
  /** Somebody else's number (a figure of merit, a custom source): it is kept with all of its digits. */
  readonly exact?: true;
}

export interface Key {
  readonly name: string;
  readonly help: string;
}

/**
 * What one source reports. Everything else (file header, Parquet types, Prometheus names, reference) derives from it.
 * A file of the table has the columns `time` (epoch microseconds, UTC), the keys (text), the columns, in this order.
 */
export interface Table {
  readonly name: string;
  readonly help: string;
  /** What a row is about (`gpu`, `disk`, `pid`); empty: one row a tick. */
  readonly keys: readonly Key[];
  readonly columns: readonly Column[];
  /** The columns listed are those that are known; a node adds what its kernel has, as described here. */
  readonly open?: { readonly help: string };
  /** node: belongs to the whole node. job: only the job's part of it. */
  readonly scope: 'node' | 'job';
  /** A row is written only when something changed (and now and then anyway): the last row holds until the next one. */
  readonly sparse?: boolean;
  /** Rows are things that happened, not samples of a state: no statistics, no rates. */
  readonly events?: boolean;
}

/** Shorthands, so that a source's definition reads as a list. */
export const gauge = (name: string, unit: Unit, help: string, type: ColumnType = 'int', decimals?: number): Column =>
  decimals === undefined
    ? { name, type, unit, kind: 'gauge', help }
    : { name, type, unit, kind: 'gauge', help, decimals };

export const counter = (name: string, unit: Unit, help: string): Column => ({
  name,
  type: 'int',
  unit,
  kind: 'counter',
  help,
});

export const text = (name: string, help: string): Column => ({ name, type: 'text', unit: 'none', kind: 'info', help });

/** The header of the table's files. */
export function header(table: Table): string[] {
  return ['time', ...table.keys.map((k) => k.name), ...table.columns.map((c) => c.name)];
}

/** Columns or keys by their names; of those with the same name the first counts. */
export const byName = <T extends { readonly name: string }>(all: readonly T[]): Map<string, T> =>
  new Map(all.map((each) => [each.name, each] as const).reverse());
