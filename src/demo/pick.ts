import type { Table } from '../table/table.ts';

/** A table with only some of its columns: the demo fills those, and says so in agent.json like a node that has no more. */
export function pick(table: Table, names: readonly string[]): Table {
  const { open: _, ...fixed } = table;
  return {
    ...fixed,
    columns: names.map((name) => {
      const column = table.columns.find((c) => c.name === name);
      if (column === undefined) throw new Error(`table ${table.name} has no column ${name}`);
      return column;
    }),
  };
}
