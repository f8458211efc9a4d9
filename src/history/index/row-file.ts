import type { Batch, TextColumn } from '../../recording/read/batch.ts';
import { Rows } from '../../recording/read/rows.ts';
import { readParquet } from '../../recording/sealed/parquet/read.ts';
import { writeParquet } from '../../recording/sealed/parquet/write.ts';
import type { Table } from '../../table/table.ts';

/** A row of any summary table. */
export type SummaryRow = { time: number } & Record<string, number | string | undefined>;

/** Rows as one Parquet file, which may not be on the disk yet. Whole-number columns are rounded: a column has the same type in every file. */
export function writeRows(file: string, table: Table, rows: readonly object[]): number {
  const all = (rows as readonly SummaryRow[]).toSorted((a, b) => a.time - b.time);
  const batch: Batch = {
    table,
    rows: all.length,
    time: Float64Array.from(all, ({ time }) => Math.round(time)),
    numbers: new Map(),
    texts: new Map(),
    series: Uint32Array.of(0, all.length),
  };
  for (const { name } of table.keys) batch.texts.set(name, textColumn(all, name));
  for (const { name, type } of table.columns) {
    if (type === 'text') batch.texts.set(name, textColumn(all, name));
    else
      batch.numbers.set(
        name,
        Float64Array.from(all, (row) => numberIn(row[name], type === 'int')),
      );
  }
  return writeParquet(file, batch, { quick: true, sync: false });
}

function numberIn(value: unknown, isWhole: boolean): number {
  if (typeof value !== 'number' || !Number.isFinite(value)) return Number.NaN;
  return isWhole ? Math.round(value) : value;
}

function textColumn(rows: readonly SummaryRow[], name: string): TextColumn {
  const codes = new Map<string, number>([['', 0]]);
  const column = { codes: new Uint32Array(rows.length), values: [''] };
  rows.forEach((row, i) => {
    const text = String(row[name] ?? '');
    let code = codes.get(text);
    if (code === undefined) {
      code = column.values.length;
      codes.set(text, code);
      column.values.push(text);
    }
    column.codes[i] = code;
  });
  return column;
}

/** The rows of such a file; throws with the reason when it is damaged. */
export function readRows(file: string, table: Table): SummaryRow[] {
  const rows = new Rows();
  readParquet(file, rows, { name: table.name });
  const keys = new Set(table.keys.map(({ name }) => name));
  const texts = [...rows.texts].map(([name, { codes, pool }]) => ({ name, codes, values: pool.values() }));
  return Array.from({ length: rows.length }, (_, i) => {
    const row: SummaryRow = { time: rows.time[i]! };
    for (const { name, codes, values } of texts) {
      const text = values[codes[i]!]!;
      if (text !== '' || keys.has(name)) row[name] = text;
    }
    for (const [name, values] of rows.numbers) if (!Number.isNaN(values[i]!)) row[name] = values[i]!;
    return row;
  });
}
