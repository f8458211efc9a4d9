import type { Figures, Statistics } from '../recording/sealed/statistics.ts';
import {
  agentTable,
  cgroupTable,
  cpuTable,
  diskTable,
  gpuProcessTable,
  gpuTable,
  interruptsTable,
  loadavgTable,
  lustreTable,
  meminfoTable,
  networkTable,
  nfsTable,
  powerTable,
  pressureTable,
  processMemoryTable,
  processTable,
  processTotalTable,
  vmstatTable,
} from '../sources/tables.ts';
import type { NameIn, Table } from '../table/table.ts';

const only = <T extends Table, const N extends NameIn<T>>(table: T, ...columns: N[]) => ({ table, columns });
const all = <T extends Table>(table: T) => only(table, ...table.columns.map(({ name }) => name as NameIn<T>));

const TABLES = [
  only(agentTable, 'cpu_us', 'written_bytes', 'late_ticks', 'missed_ticks'),
  all(cgroupTable),
  only(cpuTable, 'busy_ms', 'idle_ms', 'iowait_ms', 'steal_ms'),
  only(diskTable, 'class', 'read_bytes', 'written_bytes'),
  only(
    gpuTable,
    ...(['utilization_percent', 'memory_used_bytes', 'memory_total_bytes', 'power_watts', 'energy_mj'] as const),
    ...(['temperature_celsius', 'clock_mhz', 'throttled_thermal', 'throttled_power', 'ecc_uncorrected'] as const),
    ...(['vendor', 'model', 'mine'] as const),
  ),
  only(gpuProcessTable),
  only(interruptsTable, 'count'),
  only(loadavgTable, 'load1'),
  only(lustreTable, 'read_bytes', 'written_bytes'),
  only(meminfoTable, 'MemTotal_bytes', 'MemAvailable_bytes', 'Shmem_bytes'),
  only(networkTable, 'class', 'received_bytes', 'sent_bytes'),
  only(nfsTable, 'read_bytes', 'written_bytes'),
  all(powerTable),
  all(pressureTable),
  all(processTable),
  all(processMemoryTable),
  all(processTotalTable),
  only(vmstatTable, 'pswpin', 'oom_kill'),
] as const;

/**
 * The columns that the report is made of, by table. Others, such as most of what the kernel tells of memory, are neither
 * read nor measured: the judge can only ask for these.
 */
export const REPORT_COLUMNS: ReadonlyMap<string, readonly string[]> = new Map(
  TABLES.map(({ table, columns }) => [table.name, columns]),
);

type Entry = (typeof TABLES)[number];
type ColumnsIn<E> = E extends { table: { col: infer C }; columns: (infer N)[] } ? C[N & keyof C] : never;

/** A column of the report. */
export type ReportColumn = ColumnsIn<Entry>;

/** The names of those of a table. */
export type ReportName<T extends string> = Extract<Entry, { table: { name: T } }>['columns'][number];

/** Those whose deviations and percentiles it needs, too. */
export const SPREAD_COLUMNS = [
  gpuTable.col.clock_mhz,
  gpuTable.col.utilization_percent,
  processTable.col.rss_bytes,
] as const satisfies ReportColumn[];

/** What the report may ask of a column of a table. */
export type ReportFigures<T extends string, N extends string> =
  Extract<(typeof SPREAD_COLUMNS)[number], { table: T; name: N }> extends never ? Figures : Statistics;
