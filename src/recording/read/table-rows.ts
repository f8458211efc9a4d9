import type { Table } from '../../table/table.ts';
import { arrange } from './arrange.ts';
import type { Batch } from './batch.ts';
import { Rows } from './rows.ts';

/** Samples of one column of one series: epoch milliseconds, in the column's own unit. */
export interface ColumnSamples {
  times: Float64Array;
  values: Float64Array;
}

/** Texts as they were at some moment; they hold until something else is said. */
export interface TextSample {
  time: number;
  texts: Record<string, string>;
}

interface Series {
  keys: Record<string, string>;
  columns: Map<string, ColumnSamples[]>;
  texts: TextSample[];
}

/** Brings single series together as the rows of one table of one node: samples of the same moment are one row. */
export class TableRows {
  private readonly table: Table;
  private readonly series = new Map<string, Series>();

  constructor(table: Table) {
    this.table = table;
  }

  get isEmpty(): boolean {
    return this.series.size === 0;
  }

  add(keys: Record<string, string>, column: string, samples: ColumnSamples): void {
    const series = this.of(keys);
    const existingSamples = series.columns.get(column);
    if (existingSamples === undefined) series.columns.set(column, [samples]);
    else existingSamples.push(samples);
  }

  say(keys: Record<string, string>, sample: TextSample): void {
    this.of(keys).texts.push(sample);
  }

  /** The columns that have values; all texts. */
  columns(): Set<string> {
    return new Set([...this.series.values()].flatMap(({ columns }) => [...columns.keys()]));
  }

  batch(): Batch {
    const filledColumns = this.columns();
    const columns = this.table.columns.filter((column) => column.type === 'text' || filledColumns.has(column.name));
    const table: Table = { ...this.table, columns };
    const rows = new Rows();
    for (const { name } of table.keys) rows.addText(name);
    for (const { name, type } of columns) type === 'text' ? rows.addText(name) : rows.addNumber(name);
    for (const series of this.series.values()) fill(rows, table, series);
    return arrange(rows, table);
  }

  private of(keys: Record<string, string>): Series {
    const key = JSON.stringify(this.table.keys.map(({ name }) => keys[name] ?? ''));
    let series = this.series.get(key);
    if (series === undefined) {
      series = { keys, columns: new Map(), texts: [] };
      this.series.set(key, series);
    }
    return series;
  }
}

function fill(rows: Rows, table: Table, { keys, columns, texts }: Series): void {
  const all = [...columns.values()].flat();
  // mostly all columns have the very same moments
  const only =
    columns.size === all.length && all.every(({ times }) => times === all[0]!.times) ? all[0]!.times : undefined;
  const times = only !== undefined && isRising(only) ? only : momentsOf(all);
  const rowOf = times === only ? NO_ROWS : new Map([...times].map((time, i) => [time, i]));
  rows.reserve(times.length);
  const first = rows.length;
  times.forEach((time, i) => {
    rows.time[first + i] = time * 1000;
  });
  for (const [column, columnSamples] of columns) {
    const numbers = rows.numbers.get(column)!;
    for (const { times: moments, values } of columnSamples)
      if (times === only) numbers.set(values, first);
      else for (let i = 0; i < moments.length; i++) numbers[first + rowOf.get(moments[i]!)!] = values[i]!;
  }
  for (const { name } of table.keys) {
    const { codes, pool } = rows.texts.get(name)!;
    codes.fill(pool.codeOf(keys[name] ?? ''), first, first + times.length);
  }
  const current = new Map<string, string>();
  for (const sample of [...texts].sort((a, b) => a.time - b.time)) {
    const changed = Object.entries(sample.texts).filter(([name, text]) => current.get(name) !== text);
    if (changed.length === 0) continue;
    let from = times.findIndex((time) => time >= sample.time);
    if (from < 0) from = times.length;
    for (const [name, text] of changed) {
      current.set(name, text);
      const column = rows.texts.get(name);
      if (column !== undefined) column.codes.fill(column.pool.codeOf(text), first + from, first + times.length);
    }
  }
  rows.length += times.length;
}

const NO_ROWS: ReadonlyMap<number, number> = new Map();

function isRising(times: Float64Array): boolean {
  for (let i = 1; i < times.length; i++) if (!(times[i]! > times[i - 1]!)) return false;
  return true;
}

/** Every moment at which one of them has a sample, in order. */
function momentsOf(all: readonly ColumnSamples[]): Float64Array {
  const moments = new Set<number>();
  for (const { times } of all) for (const time of times) moments.add(time);
  return Float64Array.from(moments).sort();
}
