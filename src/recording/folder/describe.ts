import { line } from '../../base/csv.ts';
import { type Fault, usage } from '../../base/fault.ts';
import { made } from '../../base/made.ts';
import { didYouMean } from '../../base/suggest.ts';
import * as tables from '../../sources/tables.ts';
import { byName, type Column, type Table } from '../../table/table.ts';
import { type Unit, units } from '../../table/unit.ts';
import type { CellUse } from '../read/csv-read.ts';
import type { NodeRecording } from './open.ts';

/** A table as its node described it, or as Tacho knows it; undefined when nobody knows it. */
export function tableOf(node: NodeRecording, name: string): Table | undefined {
  // no agent writes markers, so no agent describes them
  if (name === tables.markerTable.name) return tables.markerTable;
  const isIt = (one: Table): boolean => one.name === name;
  return (node.agent?.tables ?? node.described)?.find(isIt) ?? (Object.values(tables) as Table[]).find(isIt);
}

/** Said of a table that was not recorded. What Tacho has, too, is no slip of the pen: gpu is not cpu. */
export function noTable(name: string, recordedTables: readonly string[]): Fault {
  const isDefined = (Object.values(tables) as Table[]).some((table) => table.name === name);
  const question = isDefined ? '' : didYouMean(name, recordedTables);
  return usage(`no table "${name}" was recorded${question}`, `there are ${recordedTables.join(', ')}`);
}

const byTable = new WeakMap<Table, Map<string, Column>>();

/** The columns of a table by name, looked up once: many recordings share their tables. */
export function columnsByName(table: Table): Map<string, Column> {
  return made(byTable, table, () => byName(table.columns));
}

/** The header of a table's live parts, if its node described it; undefined: only the file itself can tell. */
export function headerOf(node: NodeRecording, name: string): readonly string[] | undefined {
  const table = (node.agent?.tables ?? node.described)?.find((each) => each.name === name);
  return table === undefined ? undefined : formOf(table).names;
}

/** The header of a file with all columns of its table, and what its cells are. */
export interface Form {
  line: string;
  names: readonly string[];
  uses: readonly CellUse[];
}

const forms = new WeakMap<Table, Form>();

/** Made once: many recordings share their tables, and most files have all columns. */
export function formOf(table: Table): Form {
  let form = forms.get(table);
  if (form === undefined) {
    const names = ['time', ...[...table.keys, ...table.columns].map(({ name }) => name)];
    const uses = [
      'time' as const,
      ...table.keys.map(() => 'text' as const),
      ...table.columns.map(({ type }) => (type === 'text' ? 'text' : 'number')),
    ];
    form = { line: line(names).trimEnd(), names, uses };
    forms.set(table, form);
  }
  return form;
}

/** A table that nobody described: texts right behind the time are keys, everything else is a gauge. */
export function guessTable(name: string, header: readonly string[], uses: readonly CellUse[]): Table {
  let keys = 1;
  while (keys < uses.length && uses[keys] === 'text') keys++;
  return {
    name,
    help: 'Not described in the recording.',
    scope: 'node',
    keys: header.slice(1, keys).map((key) => ({ name: key, help: '' })),
    columns: header.slice(keys).map((column, i) => guessColumn(column, uses[keys + i]!)),
  };
}

/** A column that is in a file but not in its table's description. */
export function guessColumn(name: string, use: CellUse): Column {
  if (use === 'text') return { name, type: 'text', unit: 'none', kind: 'info', help: '' };
  const word = name.slice(name.lastIndexOf('_') + 1);
  const unit = (Object.keys(units) as Unit[]).find((u) => units[u].suffix === word) ?? 'count';
  return { name, type: 'float', unit, kind: 'gauge', help: '' };
}

/** What the cells of a file are: by the table's description, else by how the first rows look. */
export function layoutOf(
  table: Table | undefined,
  header: readonly string[],
  sample: () => readonly string[][],
): readonly CellUse[] | undefined {
  if (header[0] !== 'time') return undefined;
  const keys = byName(table?.keys ?? []);
  const columns = table === undefined ? undefined : columnsByName(table);
  for (const key of keys.keys()) if (!header.includes(key)) return undefined;
  return header.map((name, i) => {
    if (i === 0) return 'time';
    if (keys.has(name)) return 'text';
    const column = columns?.get(name);
    if (column !== undefined) return column.type === 'text' ? 'text' : 'number';
    return sample().some((cells) => cells.length === header.length && Number.isNaN(Number(cells[i])))
      ? 'text'
      : 'number';
  });
}
