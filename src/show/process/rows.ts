import { line } from '../../base/csv.ts';
import { columnNamed, columnNames, type ProcessColumn } from '../../query/processes/columns.ts';
import type { ProcessSet } from '../../query/processes/set.ts';

/** Values as they were recorded, in the columns' own units; a share has six digits. */
function raw(column: ProcessColumn, i: number): number | string | undefined {
  if (column.kind === 'text') return column.text(i) || undefined;
  const number = column.number(i);
  if (!Number.isFinite(number)) return undefined;
  return column.kind === 'share' ? Number(number.toPrecision(6)) : number;
}

function columnsOf(set: ProcessSet, names: readonly string[] | undefined): ProcessColumn[] {
  // the command is exename and args once more
  return (names ?? columnNames(set).filter((name) => name !== 'command')).map((name) => columnNamed(set, name));
}

/** One object a process; what is missing is left out. */
export function processJson(set: ProcessSet, rows: readonly number[], names?: readonly string[]): string {
  const columns = columnsOf(set, names);
  return listJson(
    rows.map((i) => {
      const object: Record<string, unknown> = {};
      for (const column of columns) {
        const value = raw(column, i);
        if (value !== undefined) object[column.name] = value;
      }
      return object;
    }),
  );
}

/** A list with an object on each line. */
export function listJson(objects: readonly unknown[]): string {
  return `[${objects.map((object) => `\n${JSON.stringify(object)}`).join(',')}\n]\n`;
}

/** A row a process; what is missing is empty. */
export function processCsv(set: ProcessSet, rows: readonly number[], names?: readonly string[]): string {
  const columns = columnsOf(set, names);
  return listCsv(
    columns.map((column) => column.name),
    rows.map((i) => columns.map((column) => raw(column, i) ?? '')),
  );
}

export function listCsv(heads: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  return [heads, ...rows].map((row) => line(row.map(String))).join('');
}
