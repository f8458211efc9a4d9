import { type Batch, textAt } from '../../recording/read/batch.ts';
import type { Column, Table } from '../../table/table.ts';

/** What one node of one job recorded of a table: what every layout is made of. */
export interface NodeBatch {
  /** The id of the job. */
  job: string;
  /** Where jobs have several recordings: which of them. */
  recording?: string;
  node: string;
  batch: Batch;
}

/** One table that holds the columns of all: nodes with other kernels or cards have other columns. */
export function union(tables: readonly Table[]): Table {
  const [first] = tables;
  if (first === undefined) throw new Error('no table');
  const columns = new Map<string, Column>();
  for (const table of tables)
    for (const column of table.columns) columns.has(column.name) || columns.set(column.name, column);
  return { ...first, columns: [...columns.values()] };
}

/** The value of each key in a series. */
export function keysOf(batch: Batch, series: number): string[] {
  const row = batch.series[series]!;
  return batch.table.keys.map(({ name }) => textAt(batch, name, row));
}

/** The rows of a batch that pass; a series that loses all of its rows is gone. */
export function filterRows(batch: Batch, passes: (row: number, series: number) => boolean): Batch {
  const rows: number[] = [];
  const series: number[] = [];
  for (let s = 0; s + 1 < batch.series.length; s++) {
    const before = rows.length;
    for (let r = batch.series[s]!; r < batch.series[s + 1]!; r++) if (passes(r, s)) rows.push(r);
    if (rows.length > before) series.push(before);
  }
  series.push(rows.length);
  const pick = (old: Float64Array): Float64Array => Float64Array.from(rows, (r) => old[r]!);
  return {
    table: batch.table,
    rows: rows.length,
    time: pick(batch.time),
    numbers: new Map([...batch.numbers].map(([name, old]) => [name, pick(old)])),
    texts: new Map(
      [...batch.texts].map(([name, { values, codes }]) => [
        name,
        { values, codes: Uint32Array.from(rows, (r) => codes[r]!) },
      ]),
    ),
    series: Uint32Array.from(series),
  };
}
