import { arrange } from '../../recording/read/arrange.ts';
import type { Batch } from '../../recording/read/batch.ts';
import { Rows } from '../../recording/read/rows.ts';
import type { Table } from '../../table/table.ts';

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
    const known = series.columns.get(column);
    if (known === undefined) series.columns.set(column, [samples]);
    else known.push(samples);
  }

  say(keys: Record<string, string>, sample: TextSample): void {
    this.of(keys).texts.push(sample);
  }

  /** The columns that have values; all texts. */
  columns(): Set<string> {
    return new Set([...this.series.values()].flatMap(({ columns }) => [...columns.keys()]));
  }

  batch(): Batch {
    const found = this.columns();
    const columns = this.table.columns.filter((column) => column.type === 'text' || found.has(column.name));
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
  const times = momentsOf([...columns.values()].flat());
  const place = new Map(times.map((time, i) => [time, i]));
  rows.reserve(times.length);
  const first = rows.length;
  times.forEach((time, i) => {
    rows.time[first + i] = time * 1000;
  });
  for (const [column, parts] of columns) {
    const numbers = rows.numbers.get(column)!;
    for (const { times: moments, values } of parts)
      for (let i = 0; i < moments.length; i++) numbers[first + place.get(moments[i]!)!] = values[i]!;
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

/** Every moment at which one of them has a sample, in order. Mostly all have the same ones. */
function momentsOf(all: readonly ColumnSamples[]): number[] {
  const moments = new Set<number>();
  for (const { times } of all) for (const time of times) moments.add(time);
  return [...moments].sort((a, b) => a - b);
}
