import { sources } from '../../src/sources/index.ts';
import { agentTable } from '../../src/sources/own/agent.ts';
import { metricsOf } from '../../src/table/names.ts';
import type { Column, Table } from '../../src/table/table.ts';

/** Every panel asks the data source that is chosen at the top of the page. */
export const DATASOURCE = { type: 'prometheus', uid: '$' + '{datasource}' };

export interface Panel {
  title: string;
  /** Shown when one points at the i of the panel. */
  description: string;
  type: 'timeseries' | 'stat' | 'table';
  /** Grafana's id of a unit. */
  unit: string;
  /** Expressions, and what their lines are called. */
  targets: { expr: string; legend: string }[];
  /** Of the 24 columns of a page. */
  width: number;
  height: number;
  stack?: boolean;
  max?: number;
}

export interface Row {
  title: string;
  /** Only its title is shown until somebody opens it. */
  collapsed?: boolean;
  panels: Panel[];
}

const tables: readonly Table[] = [...sources.map(({ table }) => table), agentTable];

/** A column, from the definitions: a name that is not there (any more) fails. */
export function columnOf(name: string): { table: Table; column: Column; metric: string } {
  const [of, which] = name.split('.');
  const table = tables.find((each) => each.name === of);
  const columnIndex = table?.columns.findIndex((each) => each.name === which) ?? -1;
  const metric = table === undefined ? undefined : metricsOf(table)[columnIndex]?.name;
  if (table === undefined || metric === undefined) throw new Error(`there is no number column ${name}`);
  return { table, column: table.columns[columnIndex]!, metric };
}

/** Units of the base: as a level, and as growth per second. */
const UNITS: Readonly<Record<string, readonly [level: string, rate: string]>> = {
  bytes: ['bytes', 'Bps'],
  seconds: ['s', 'short'],
  ratio: ['percentunit', 'percentunit'],
  watts: ['watt', 'watt'],
  joules: ['joule', 'watt'],
  celsius: ['celsius', 'celsius'],
  hertz: ['hertz', 'hertz'],
  volts: ['volt', 'volt'],
  amperes: ['amp', 'amp'],
  rpm: ['rotrpm', 'rotrpm'],
};

export function unitOf(name: string): string {
  const { table, column } = columnOf(name);
  const { unit } = metricsOf(table)[table.columns.indexOf(column)]!;
  const [level, rate] = UNITS[unit] ?? ['short', 'cps'];
  return column.kind === 'counter' ? rate : level;
}

/** The metric of a column under conditions; a counter as its growth per second. */
export function expressionOf(name: string, conditions: string): string {
  const { column, metric } = columnOf(name);
  const series = `${metric}{${conditions}}`;
  return column.kind === 'counter' ? `rate(${series}[$__rate_interval])` : series;
}

/** What a column is called where people read it: `memory_used_bytes` is "memory used". */
export function wordsOf(name: string): string {
  const { column } = columnOf(name);
  const nameWords = column.name.replace(/_(bytes|percent|watts|celsius|mhz|ms|us|mj|rpm)$/, '').split('_');
  return nameWords.join(' ');
}
