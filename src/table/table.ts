import type { Unit } from './unit.ts';

/** gauge: a level now. counter: only grows while its owner lives; differences matter. info: describes, is not measured. */
export type Kind = 'gauge' | 'counter' | 'info';

export type ColumnType = 'int' | 'float' | 'text';

export interface Column<N extends string = string> {
  /** Lower case words and the unit's suffix (`memory_used_bytes`), or the kernel's own name plus suffix (`MemFree_bytes`). */
  readonly name: N;
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

export interface Key<N extends string = string> {
  readonly name: N;
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
  /** The columns listed are those that are known; a node adds what its kernel has (in this file), as described here. */
  readonly open?: { readonly help: string; readonly file?: string };
  /** node: belongs to the whole node. job: only the job's part of it. */
  readonly scope: 'node' | 'job';
  /** A row is written only when something changed (and now and then anyway): the last row holds until the next one. */
  readonly sparse?: boolean;
  /** Rows are things that happened, not samples of a state: no statistics, no rates. */
  readonly events?: boolean;
  /** A thing of that table without a row here has one, which would say the same: it is not written twice. */
  readonly implied_by?: string;
}

/** A column of a certain table: who asks for it can neither misspell it nor look for it elsewhere. */
export interface TableColumn<T extends string = string, N extends string = string, K extends string = string>
  extends Column<N> {
  readonly table: T;
  readonly keys: readonly Key<K>[];
  /** Its place in a row of a frame: among the numbers, or of a text among the texts. */
  readonly index: number;
}

/** A table whose columns are known to the type check: `cgroupTable.col.usage_us`. */
export interface DefinedTable<T extends string, C extends Column, K extends string> extends Table {
  readonly name: T;
  readonly keys: readonly Key<K>[];
  readonly columns: readonly C[];
  readonly col: { readonly [O in C as O['name']]: TableColumn<T, O['name'], K> };
  /** The place of each key and column in a row of a frame: among the numbers, or of a text among the texts. */
  readonly at: { readonly [N in K | C['name']]: number };
}

/** Values of keys, by their names. */
export type KeyValues<K extends string> = { readonly [N in K]?: string };
export type KeyName<T extends Table> = T['keys'][number]['name'];
export type NameIn<T extends Table> = KeyName<T> | T['columns'][number]['name'];
export type TextName<T extends Table> = Extract<T['columns'][number], { type: 'text' }>['name'];
export type NumberName<T extends Table> = Exclude<T['columns'][number], { type: 'text' }>['name'];

/** Defines a table; its columns are then at hand by name. */
export function defineTable<const T extends string, const C extends Column, const K extends string = never>(
  table: Omit<Table, 'name' | 'keys' | 'columns'> & Pick<DefinedTable<T, C, K>, 'name' | 'keys' | 'columns'>,
): DefinedTable<T, C, K> {
  const { name, keys, columns } = table;
  const defined = { ...table } as DefinedTable<T, C, K>;
  onDemand(defined, 'at', () => {
    const texts = [...keys, ...columns.filter(({ type }) => type === 'text')];
    const numbers = columns.filter(({ type }) => type !== 'text');
    return Object.fromEntries([texts, numbers].flatMap((all) => all.map((one, index) => [one.name, index])));
  });
  onDemand(defined, 'col', () => {
    const { at } = defined as { at: Record<string, number> };
    return Object.fromEntries(columns.map((c) => [c.name, { ...c, table: name, keys, index: at[c.name] }]));
  });
  return defined;
}

/** Made when somebody asks for it: most commands need few tables. Not listed: files and messages have the definition alone. */
function onDemand(object: object, name: string, make: () => unknown): void {
  Object.defineProperty(object, name, {
    configurable: true,
    get() {
      const value = make();
      Object.defineProperty(object, name, { value });
      return value;
    },
  });
}

/** Shorthands, so that a source's definition reads as a list. */
export const gauge = <N extends string>(
  name: N,
  unit: Unit,
  help: string,
  type: ColumnType = 'int',
  decimals?: number,
): Column<N> =>
  decimals === undefined
    ? { name, type, unit, kind: 'gauge', help }
    : { name, type, unit, kind: 'gauge', help, decimals };

export const counter = <N extends string>(name: N, unit: Unit, help: string): Column<N> => ({
  name,
  type: 'int',
  unit,
  kind: 'counter',
  help,
});

export const text = <N extends string>(name: N, help: string): Column<N> & { readonly type: 'text' } => ({
  name,
  type: 'text',
  unit: 'none',
  kind: 'info',
  help,
});

/** The header of the table's files. */
export function header(table: Table): string[] {
  return ['time', ...table.keys.map((k) => k.name), ...table.columns.map((c) => c.name)];
}

/** Columns or keys by their names; of those with the same name the first counts. */
export const byName = <T extends { readonly name: string }>(all: readonly T[]): Map<string, T> =>
  new Map(all.map((each) => [each.name, each] as const).reverse());

/** What is said of a field of a file of the kernel that an open table does not list. */
export const openHelp = (file: string, column: string): string => `${column.replace(/_bytes$/, '')} of ${file}.`;
