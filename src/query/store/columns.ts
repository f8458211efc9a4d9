import { inOwnUnit, labelName, metricsOf, prometheusFactor } from '../../table/names.ts';
import type { Column, Table } from '../../table/table.ts';
import type { Labels } from './client.ts';

/** The number columns of a table by the name of their metric. */
export function columnsByMetric(table: Table): Map<string, Column> {
  const metrics = metricsOf(table);
  return new Map(
    table.columns.flatMap((column, i): [string, Column][] => {
      const name = metrics[i]?.name;
      return name === undefined ? [] : [[name, column]];
    }),
  );
}

/** What a row is about, from the labels of its sample. */
export function keysOf(table: Table, labels: Labels): Record<string, string> {
  return Object.fromEntries(table.keys.map(({ name }) => [name, labels[labelName(name)] ?? '']));
}

/** The texts of a row, those that are not empty. */
export function textsOf(table: Table, labels: Labels): Record<string, string> {
  const texts = table.columns.filter((column) => column.type === 'text');
  return Object.fromEntries(
    texts.flatMap(({ name }): [string, string][] => {
      const text = labels[labelName(name)] ?? '';
      return text === '' ? [] : [[name, text]];
    }),
  );
}

/** A stored value in the column's own unit. */
const unstored = (column: Column, value: number): number => inOwnUnit(value, prometheusFactor(column));

/** A stored sample as the file has it: whole where it was whole. */
export function sampleOf(column: Column, value: number): number {
  const own = unstored(column, value);
  return column.type === 'int' ? Math.round(own) : own;
}
