import type { AgentRecord } from '../recording/folder/agent-record.ts';
import type { Job } from '../recording/folder/job.ts';
import type { Marker } from '../recording/read/markers.ts';
import { quantiles } from '../recording/sealed/quantiles.ts';
import type { Figures, SeriesOf, SeriesStatistics, TableStatistics } from '../recording/sealed/statistics.ts';
import type { processTable } from '../sources/process/table.ts';
import type { KeyName, KeyValues, NumberName, Table, TableColumn } from '../table/table.ts';
import type { DaskRun } from './dask/dask-run.ts';
import type { PastSeries } from './past.ts';
import type { ProcessSet } from './processes/set.ts';
import type { AllThreads } from './processes/threads.ts';
import type { ReportColumn, ReportFigures, ReportName } from './report-columns.ts';
import type { ColumnSeries, SeriesOptions } from './series/series.ts';
import type { Selection } from './spans/select.ts';
import type { NodeSamples } from './use/samples.ts';

export interface NodeMaterial {
  node: string;
  /** Missing when the agent's record was lost or never written. */
  agent?: AgentRecord;
  tables: ReadonlyMap<string, TableStatistics>;
}

/** What sampling saw of one process. */
export type ProcessSeries = ReportSeries<typeof processTable>;

/** A file that could not be read, or not all of it. */
export interface Unread {
  node: string;
  table: string;
  /** Its name in the node's folder. */
  file: string;
  why: string;
  /** Whether all of it is lost. */
  whole: boolean;
  /** How many lines of it are no rows. */
  lines: number;
}

/** Some of the series of a column. */
export interface AskedSeries<K extends string> extends SeriesOptions<K> {
  /** Of this node alone. */
  node?: string;
}

/** All that the judge knows of one recording. */
export interface Material {
  path: string;
  job: Job;
  nodes: readonly NodeMaterial[];
  /** Of all of the job, by time. */
  markers: readonly Marker[];
  range?: Selection;
  /** Of a part of the job: the whole of it, with the statistics of what is used up. */
  whole?: Material;
  /** Of the whole job where parts of it are looked at: what was sampled of what is used up, by node. */
  samples?: ReadonlyMap<string, NodeSamples>;
  /** The whole job with its samples, which are read when they are first asked for; not there when none are at hand. */
  sampled?: () => Material;
  /** What could not be read of the recording's files, in words. */
  damage?: readonly string[];
  /** Those among them that say who, what and when: job.json and agent.json. */
  troubles?: readonly string[];
  /** The files among them whose loss may be felt: more than a torn last line. */
  unread?: readonly Unread[];
  /** Means of each phase, by the phase's place in the list, when somebody read them. */
  phaseTables?: readonly (readonly NodeMaterial[])[];
  /** All processes, when they recorded themselves and the whole job is looked at. */
  processes?: ProcessSet;
  /** The Dask cluster of the job, read when it is asked for; undefined: it had none. */
  dask?: () => DaskRun | undefined;
  /** Their threads, read when they are asked for; not there where none recorded themselves. */
  threads?: () => AllThreads;
  /** Folders of the recording that are no node's of this job. */
  strays?: readonly string[];
  /** What was left out where this comes from. */
  leftOut?: readonly { what: string; why: string; hint?: string }[];
  /** A column over time, read when it is asked for; not there when no samples are at hand. */
  series?: <K extends string>(column: TableColumn<string, string, K>, options?: AskedSeries<K>) => ColumnSeries[];
  /** Columns of a table in earlier jobs whose recordings lie beside this one; not there when it is no folder. */
  past?: (table: string, columns: readonly string[]) => PastSeries[];
  /** Now, in epoch microseconds: how old the newest sample of a running job is. */
  now: number;
}

/** The whole job, also where a part of it is looked at. */
export function wholeOf(material: Material): Material {
  return material.whole ?? material;
}

/** The series of a table, all of them or those whose keys match; none when the table was not recorded. */
export function seriesOf<T extends Table>(
  node: NodeMaterial,
  table: T,
  keys?: KeyValues<KeyName<T>>,
): ReportSeries<T>[] {
  return matching(node, table.name, keys) as ReportSeries<T>[];
}

/** A series with the columns that the report reads. */
export type ReportSeries<T extends Table> = Omit<SeriesOf<T, ReportName<T['name']>>, 'columns'> & {
  columns: { [C in Extract<NumberName<T>, ReportName<T['name']>>]?: ReportFigures<T['name'], C> };
};

/** The same by the table's name. */
export function matching(node: NodeMaterial, table: string, keys?: KeyValues<string>): SeriesStatistics[] {
  const all = node.tables.get(table)?.series ?? [];
  if (keys === undefined || all.length === 0) return [...all];
  const wanted = Object.entries(keys);
  return all.filter((s) => wanted.every(([key, value]) => s.keys[key] === value));
}

/** The statistics of a table; undefined when it was not recorded. */
export const tableOf = <T extends Table>({ tables }: NodeMaterial, table: T) =>
  tables.get(table.name) as (Omit<TableStatistics, 'series'> & { series: ReportSeries<T>[] }) | undefined;

/** A column's statistics in the one series that matches; undefined when there is no value at all. */
export function columnOf<C extends ReportColumn>(
  node: NodeMaterial,
  { table, name }: C,
  keys?: KeyValues<C['keys'][number]['name']>,
): Figures | undefined {
  const statistics = matching(node, table, keys)[0]?.columns[name];
  return statistics !== undefined && statistics.count > 0 ? statistics : undefined;
}

/** A finite number or nothing: NaN means that there was no value. */
export function ifFinite(value: number | undefined): number | undefined {
  return value !== undefined && Number.isFinite(value) ? value : undefined;
}

/** The sum of what is known; undefined when nothing is. */
export function sum(values: Iterable<number | undefined>): number | undefined {
  let total: number | undefined;
  for (const value of values) if (ifFinite(value) !== undefined) total = (total ?? 0) + value!;
  return total;
}

/** The largest of what is known; undefined when nothing is. */
export function largest(values: Iterable<number | undefined>): number | undefined {
  let maximum: number | undefined;
  for (const value of values)
    if (ifFinite(value) !== undefined && (maximum === undefined || value! > maximum)) maximum = value!;
  return maximum;
}

/** The mean of what is known; undefined when nothing is. */
export function mean(values: readonly (number | undefined)[]): number | undefined {
  const all = values.filter((v) => ifFinite(v) !== undefined) as number[];
  return all.length === 0 ? undefined : all.reduce((a, b) => a + b, 0) / all.length;
}

/** The middle value of what is known; undefined when nothing is. */
export function median(values: readonly (number | undefined)[]): number | undefined {
  const all = Float64Array.from(values.filter((v) => ifFinite(v) !== undefined) as number[]);
  return all.length === 0 ? undefined : quantiles(all, all.length, [0.5])[0];
}
