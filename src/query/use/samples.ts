import type { NodeRecording } from '../../recording/folder/open.ts';
import { type Batch, textAt } from '../../recording/read/batch.ts';
import { farthest, grown } from '../../recording/read/edges.ts';
import { type ReadBatch, readTable } from '../../recording/read/read.ts';
import { agentTable, cgroupTable, cpuTable, processTable, processTotalTable } from '../../sources/tables.ts';
import type { TableColumn } from '../../table/table.ts';
import { SAMPLED_CPU_COLUMNS, type SampledCpu, sampledCpu } from '../processes/sampled-cpu.ts';
import type { TableDamage } from '../summarise.ts';
import { type Curve, through } from './curve.ts';

/** Values and when they were sampled, epoch microseconds; NaN is missing. */
export interface Points {
  times: ArrayLike<number>;
  values: ArrayLike<number>;
  /** At which they were sampled, in seconds, if that is known. */
  interval: number;
}

/** What was sampled of one thing (a card, a meter, a cgroup). */
export interface SampledSeries {
  keys: Readonly<Record<string, string>>;
  /** By the column's name. */
  points: ReadonlyMap<string, Points>;
}

/** All that was sampled on a node of what is used up. */
export interface NodeSamples {
  /** By the table's name. */
  series: ReadonlyMap<string, readonly SampledSeries[]>;
  processes: readonly SampledCpu[];
  /** What could not be read. */
  damage: readonly TableDamage[];
}

/** What is used up: the columns that the use of any part of a job is made of. */
export const USED_COLUMNS: readonly TableColumn[] = [
  cgroupTable.col.usage_us,
  agentTable.col.cpu_us,
  processTotalTable.col.cpu_us,
];

/** Those of a node: where all that runs there is the job, what its CPUs did, too. */
export const usedColumns = ({ agent }: Pick<NodeRecording, 'agent'>): readonly TableColumn[] =>
  agent?.scope.members === 'node' ? [...USED_COLUMNS, cpuTable.col.busy_ms] : USED_COLUMNS;

/** Reads them once, for all parts of a job; `to`: what was sampled later is not the job's. */
export function readSamples(node: NodeRecording, to?: number): NodeSamples {
  const damage: TableDamage[] = [];
  const series = new Map<string, readonly SampledSeries[]>();
  const read = (table: string, columns: readonly string[]): ReadBatch | undefined => {
    if (!node.tables.has(table)) return undefined;
    const batch = readTable(node, table, { columns, ...(to === undefined ? {} : { to }) });
    damage.push(...batch.damage.map((each) => ({ ...each, table })));
    return batch;
  };
  for (const [table, columns] of Map.groupBy(usedColumns(node), (column) => column.table)) {
    const batch = read(
      table,
      columns.map(({ name }) => name),
    );
    if (batch !== undefined) series.set(table, seriesOf(batch));
  }
  const processes = read(processTable.name, SAMPLED_CPU_COLUMNS);
  return { series, processes: processes === undefined ? [] : sampledCpu(processes), damage };
}

function seriesOf(batch: Batch): SampledSeries[] {
  return Array.from({ length: Math.max(0, batch.series.length - 1) }, (_, s): SampledSeries => {
    const [from, to] = [batch.series[s]!, batch.series[s + 1]!];
    const times = batch.time.subarray(from, to);
    const interval = batch.interval_seconds ?? Number.NaN;
    return {
      keys: Object.fromEntries(batch.table.keys.map(({ name }) => [name, textAt(batch, name, from)])),
      points: new Map(
        [...batch.numbers].map(([name, all]) => [name, { times, values: all.subarray(from, to), interval }]),
      ),
    };
  });
}

/** A column of the one series with these keys. */
export function sampledColumn(
  samples: NodeSamples | undefined,
  { table, name }: TableColumn,
  keys: Readonly<Record<string, string | undefined>> = {},
): Points | undefined {
  const wanted = Object.entries(keys);
  const series = samples?.series.get(table)?.find((one) => wanted.every(([key, value]) => one.keys[key] === value));
  return series?.points.get(name);
}

/** The same curve serves all parts of a job. */
const drawn = new WeakMap<Points, Curve | undefined>();

/** How a counter grew, from 0 on; one that fell began again. undefined: it has no value. */
export function counted(points: Points): Curve | undefined {
  if (!drawn.has(points)) drawn.set(points, draw(points));
  return drawn.get(points);
}

function draw({ times, values, interval }: Points): Curve | undefined {
  const [moments, used]: [number[], number[]] = [[], []];
  let [before, sum] = [Number.NaN, 0];
  for (let i = 0; i < times.length; i++) {
    const value = values[i]!;
    if (Number.isNaN(value)) continue;
    if (moments.length > 0) sum += grown(before, value);
    moments.push(times[i]!);
    used.push(sum);
    before = value;
  }
  return through(moments, used, farthest(interval * 1e6));
}
