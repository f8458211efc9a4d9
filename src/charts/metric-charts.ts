import { usage } from '../base/fault.ts';
import type { Material } from '../query/material.ts';
import { noTable } from '../recording/folder/describe.ts';
import type { Column, Table } from '../table/table.ts';
import { columnChart, type Described, isDrawable, tablesOf } from './column-chart.ts';
import type { Drawing } from './draw.ts';
import { columnsOf, JOB_CHARTS, type JobChart } from './job-charts.ts';

/** Of a table whose columns are not named: those that charts of jobs show, else so many of the first. */
const MOST_UNNAMED = 6;

/** The charts of some columns of a table, by names that may be shortened (`utilisation`, `memory_used`). */
export function metricCharts(
  material: Pick<Material, 'nodes'>,
  tableName: string,
  names: readonly string[] | undefined,
): JobChart[] {
  const table = needTable(material, tableName);
  const drawable = table.columns.filter((column) => isDrawable(table, column));
  if (drawable.length === 0)
    throw usage(`table ${table.name} has no values over time`, `its columns: ${namesOf(table.columns)}`);
  const columns = names?.map((name) => needColumn(table, drawable, name)) ?? usual(table, drawable);
  return columns.map(({ name }) => columnChart(material, `${table.name}.${name}`)!);
}

function needTable(material: Pick<Material, 'nodes'>, name: string): Table {
  const tables = tablesOf(material);
  const table = tables.find((each) => each.name === name);
  if (table !== undefined) return table;
  throw noTable(name, tables.map((each) => each.name).sort());
}

/** The tables whose columns can be drawn over time, by name. */
export const drawableTables = (material: Described): string[] =>
  tablesOf(material)
    .filter((table) => table.columns.some((column) => isDrawable(table, column)))
    .map(({ name }) => name)
    .sort();

function usual(table: Table, drawable: readonly Column[]): readonly Column[] {
  const charted = new Set(JOB_CHARTS.flatMap(columnsOf));
  const chosen = drawable.filter(({ name }) => charted.has(`${table.name}.${name}`));
  return chosen.length > 0 ? chosen : drawable.slice(0, MOST_UNNAMED);
}

const namesOf = (columns: readonly Column[]): string => columns.map(({ name }) => name).join(', ');

/** British or American, without its unit. */
const plain = (name: string): string => name.toLowerCase().replaceAll('-', '_').replaceAll('isation', 'ization');

function needColumn(table: Table, drawable: readonly Column[], name: string): Column {
  const exact = drawable.find((column) => column.name === name);
  if (exact !== undefined) return exact;
  const near = drawable.filter((column) => plain(column.name).startsWith(plain(name)));
  if (near.length === 1) return near[0]!;
  if (near.length > 1) throw usage(`"${name}" may be several columns of ${table.name}`, `name one: ${namesOf(near)}`);
  throw usage(`table ${table.name} has no column "${name}" with values over time`, `there are: ${namesOf(drawable)}`);
}

/** Which series of a drawing are wanted. */
export interface SeriesFilter {
  nodes?: readonly string[];
  /** Values of keys: `gpu` → 0 and 1. */
  keys?: ReadonlyMap<string, readonly string[]>;
}

/** The value of each key of a series: `{ gpu: '0' }`. */
export function keysOf({ key: names }: JobChart, key: string | undefined): [name: string, value: string][] {
  const all = names?.split(' ') ?? [];
  const values = all.length < 2 ? [key ?? ''] : (key ?? '').split(' ');
  return all.map((name, i) => [name, values[i] ?? '']);
}

/** A drawing with the wanted series. */
export function filtered(drawing: Drawing, { nodes, keys = new Map() }: SeriesFilter): Drawing {
  const isWanted = ({ node, key }: Drawing['series'][number]): boolean => {
    const own = new Map(keysOf(drawing.chart, key));
    return nodes?.includes(node) !== false && [...keys].every(([name, values]) => values.includes(own.get(name) ?? ''));
  };
  return { ...drawing, series: drawing.series.filter(isWanted) };
}
