import type { Table } from '../table/table.ts';

/** Place of a number column among the numbers of its table’s frames, for sources that look it up before there is a frame. */
export function place(table: Table, column: string): number {
  const at = table.columns.filter((c) => c.type !== 'text').findIndex((c) => c.name === column);
  if (at < 0) throw new Error(`${table.name} has no number column ${column}`);
  return at;
}
