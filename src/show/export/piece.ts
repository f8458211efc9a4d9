import type { Batch } from '../../recording/batch.ts';
import type { Column, Table } from '../../table/table.ts';

/** What one node of one job recorded of a table: what every layout is made of. */
export interface Piece {
  job: string;
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
  return batch.table.keys.map((key) => {
    const texts = batch.texts.get(key.name);
    return texts === undefined ? '' : texts.values[texts.codes[row]!]!;
  });
}

/** 2 before 10, and node9 before node10. */
export function natural(a: string, b: string): number {
  const left = a.match(PARTS) ?? [];
  const right = b.match(PARTS) ?? [];
  for (let i = 0; i < left.length && i < right.length; i++) {
    const [l, r] = [left[i]!, right[i]!];
    if (l === r) continue;
    const difference = DIGIT.test(l) && DIGIT.test(r) ? Number(l) - Number(r) : 0;
    return difference || (l < r ? -1 : 1);
  }
  return left.length - right.length;
}

const PARTS = /\d+|\D+/g;
const DIGIT = /^\d/;
