import type { Table } from '../table/table.ts';

/** A table with only some of its columns: the demo fills those, and says so in agent.json like a node that has no more. */
export function pick<T extends Table>(table: T, ...names: T['columns'][number]['name'][][]): Table {
  const { open: _, ...fixed }: Table = table;
  return { ...fixed, columns: names.flat().map((name) => table.columns.find((column) => column.name === name)!) };
}
