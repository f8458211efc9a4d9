import type { Material, NodeMaterial } from '../query/material.ts';
import { daskGpuTable, daskGraphTable, daskMetricTable, daskTaskTable, daskWorkerTable } from '../sources/tables.ts';
import type { Column, Table, TableColumn } from '../table/table.ts';
import { type Unit, units } from '../table/unit.ts';
import type { ChartUnit, JobChart } from './job-charts.ts';

/** What a level and a rate of a column are shown in, and what its values are multiplied with. */
interface Shown {
  unit: ChartUnit;
  factor: number;
}

const BASES: Readonly<Record<string, { level: Shown; rate: Shown }>> = {
  bytes: { level: { unit: 'bytes', factor: 1 }, rate: { unit: 'bytes/s', factor: 1 } },
  seconds: { level: { unit: 's', factor: 1 }, rate: { unit: '%', factor: 100 } },
  ratio: { level: { unit: '%', factor: 100 }, rate: { unit: '1/s', factor: 1 } },
  watts: { level: { unit: 'W', factor: 1 }, rate: { unit: '1/s', factor: 1 } },
  joules: { level: { unit: 'J', factor: 1 }, rate: { unit: 'W', factor: 1 } },
  celsius: { level: { unit: '°C', factor: 1 }, rate: { unit: '1/s', factor: 1 } },
  hertz: { level: { unit: 'MHz', factor: 1e-6 }, rate: { unit: '1/s', factor: 1 } },
  '': { level: { unit: '', factor: 1 }, rate: { unit: '1/s', factor: 1 } },
};

function shownIn(unit: Unit, kind: Column['kind']): Shown {
  const { base, factor } = units[unit];
  const { level, rate } = BASES[base] ?? BASES['']!;
  const shown = kind === 'counter' ? rate : level;
  return { unit: shown.unit, factor: shown.factor * factor };
}

/** The monitor of a Dask cluster writes them beside the agent, which knows nothing of it. */
const MONITORED: readonly Table[] = [daskTaskTable, daskWorkerTable, daskGpuTable, daskMetricTable, daskGraphTable];

/** Nodes with their tables, most of which their agents describe. */
export interface Described {
  nodes: readonly { agent?: NodeMaterial['agent']; tables: { has(name: string): boolean } }[];
}

/** The tables of a recording, as its nodes describe them; those that no agent writes as they are defined. */
export function tablesOf({ nodes }: Described): Table[] {
  const described = new Map<string, Table>();
  for (const { agent } of nodes) for (const table of agent?.tables ?? []) described.set(table.name, table);
  for (const table of MONITORED)
    if (nodes.some(({ tables }) => tables.has(table.name))) described.set(table.name, table);
  return [...described.values()];
}

/** Whether a column has values over time. */
export const isDrawable = ({ events }: Table, { type, kind }: Column): boolean =>
  events !== true && type !== 'text' && kind !== 'info';

/**
 * The chart of any column that was sampled, by its name (`gpu.power_watts`). Counters become rates: seconds of each second
 * are percent. Undefined: the recording has no such column, or it has no values over time.
 */
export function columnChart(material: Pick<Material, 'nodes'>, id: string): JobChart | undefined {
  const [tableName, columnName] = id.split('.', 2);
  const table = tablesOf(material).find(({ name }) => name === tableName);
  const index = table?.columns.findIndex(({ name }) => name === columnName) ?? -1;
  if (table === undefined || index < 0) return undefined;
  const column = table.columns[index]!;
  if (!isDrawable(table, column)) return undefined;
  const { unit, factor } = shownIn(column.unit, column.kind);
  const source: TableColumn = { ...column, table: table.name, keys: table.keys, index };
  return {
    id,
    group: 'Columns',
    title: id,
    help: column.help,
    unit,
    sources: [{ column: source, factor, scope: table.scope }],
    ...(table.keys.length === 0 ? {} : { key: table.keys.map(({ name }) => name).join(' ') }),
  };
}
