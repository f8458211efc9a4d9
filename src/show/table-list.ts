import { figure } from '../base/figure.ts';
import type { Recording } from '../recording/folder/open.ts';
import type { Table } from '../table/table.ts';
import { union } from './export/node-batch.ts';
import { columnsOf } from './export/select.ts';
import { textTable } from './terminal/text-table.ts';

/** A table that was recorded, with the columns of all nodes, and on how many nodes. */
export interface RecordedTable extends Table {
  nodes: number;
}

/** The tables of recordings, by name: what `tacho export` can write. */
export function recordedTables(recordings: readonly Recording[]): RecordedTable[] {
  const tablesByName = new Map<string, { tables: Table[]; nodes: Set<string> }>();
  for (const node of recordings.flatMap(({ nodes }) => nodes)) {
    for (const name of node.tables.keys()) {
      const table = columnsOf(node, name, undefined);
      if (table === undefined) continue;
      const entry = tablesByName.get(name) ?? { tables: [], nodes: new Set() };
      entry.tables.push(table);
      entry.nodes.add(node.name);
      tablesByName.set(name, entry);
    }
  }
  return [...tablesByName]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, { tables, nodes }]) => ({ ...union(tables), nodes: nodes.size }));
}

/** For people: one table a line. */
export function tableListText(tables: readonly RecordedTable[], width?: number): string {
  const rows = tables.map(({ name, keys, columns, nodes, help }) => [
    name,
    figure(nodes),
    keys.map((key) => key.name).join(', '),
    String(columns.length),
    help,
  ]);
  const columns = [
    { head: 'table' },
    { head: 'nodes', align: 'right' },
    { head: 'keys', spare: 1 },
    { head: 'columns', align: 'right', spare: 2 },
    { head: 'what it holds', shrinks: true },
  ] as const;
  return `${textTable(columns, rows, width).join('\n')}\n`;
}
