import * as fs from 'node:fs';
import * as path from 'node:path';
import { Fault, reason } from '../../base/fault.ts';
import { stated } from '../../base/stated.ts';
import { markerTable } from '../../sources/tables.ts';
import type { Table } from '../../table/table.ts';
import { isAlive, ownMark } from '../folder/alive.ts';
import { tableOf } from '../folder/describe.ts';
import { fileNames } from '../folder/file-names.ts';
import { isParquet, packedName, parquetName, statisticsName, type TableFiles, tableFiles } from '../folder/files.ts';
import type { NodeRecording, Recording } from '../folder/open.ts';
import { syncFile, syncFolder, writeNew } from '../folder/synced.ts';
import { moveTables, versionOf } from '../folder/tables-file.ts';
import type { Damage } from '../read/csv-read.ts';
import { type ReadBatch, readTable } from '../read/read.ts';
import { keepRejected, Rejected, rememberDamaged } from '../repair/torn.ts';
import { cpuColumns, measure, measureColumn, measureSeries } from './measure.ts';
import { OverviewMaker } from './overview.ts';
import { packCsv } from './packed-csv.ts';
import { ParquetWriter, packedMetadata, parquetColumns } from './parquet/write.ts';
import { type StatisticsFile, writeStatistics } from './statistics-file.ts';
import { sizeOf } from './worth-sealing.ts';

export interface SealOptions {
  /** Seal nodes whose agent seems to be running, too: by who knows that it is not, or keeping the parts that it writes to. */
  force?: boolean | 'keep open parts';
  /** Small tables become Parquet files, too. */
  parquet?: boolean;
  /** Called with the bytes of live parts that are done with. */
  progress?: (bytes: number) => void;
  /** How many values may be in memory at once (default 8 million). */
  valuesAtOnce?: number;
  /** Called after each step: tests stop there. */
  step?: (what: string) => void;
  /** Epoch microseconds. */
  now?: number;
}

export interface SealedTable {
  table: string;
  rows: number;
  bytes_before: number;
  bytes_after: number;
}

export interface SealedNode {
  node: string;
  tables: SealedTable[];
  /** Why the node was left as it is. */
  skipped?: string;
}

/** What live parts and an earlier sealed file stand for, in bytes of CSV. */
const CSV_BYTES_PER_VALUE = 5;
const ZSTD_FACTOR = 4;

/**
 * Turns live parts into one Parquet file a table, with its statistics beside it, or into one compressed CSV file while
 * that is smaller. Whatever happens on the way, the recording stays readable and every sample counts once: live parts go
 * only when their sealed file is on the disk.
 */
export function sealRecording(recording: Recording, options: SealOptions = {}): SealedNode[] {
  return recording.nodes.map((node): SealedNode => {
    const alive = isAlive(node, options.now);
    if (!options.force && alive) {
      return { node: node.name, tables: [], skipped: 'its agent is still recording' };
    }
    const tables = sealTables(node, options, alive && options.force !== true);
    node.tables = tableFiles(fileNames(node.folder).files);
    if (!alive) {
      const names = [...node.tables.keys()];
      // markers are described by Tacho itself, and only one of the nodes has them
      const described = names.filter((name) => name !== markerTable.name);
      const more = described.flatMap((name) => tableOf(node, name) ?? []);
      const before = node.agent?.tables ?? node.described;
      moveTables(node.folder, { more, written: names, several: recording.job.nodes.length > 1, before });
    }
    return { node: node.name, tables };
  });
}

/** All tables of a node or none: a disk that is too full for one of them leaves the node as it was. */
function sealTables(node: NodeRecording, options: SealOptions, open: boolean): SealedTable[] {
  const ready: ReadyTable[] = [];
  try {
    for (const [name, files] of node.tables) {
      const lacking = isParquet(files.sealed) ? files.statistics === undefined : options.parquet === true;
      if (files.parts.length > 0 || lacking) ready.push(prepareTable(node, name, options, open));
    }
    // after all of them are written: the disk takes them together
    for (const each of ready) each.sync();
  } catch (error) {
    if (!(error instanceof Stopped)) for (const each of ready) each.abandon();
    throw error;
  }
  const placed = ready.map((each) => each.moveIntoPlace());
  if (placed.length > 0) syncFolder(node.folder);
  return placed.map((each) => each.finish());
}

/** A table whose sealed form is written, under names that nobody reads. */
interface ReadyTable {
  /** Waits until it is on the disk. */
  sync(): void;
  /** Gives it its name. */
  moveIntoPlace(): PlacedTable;
  abandon(): void;
}

interface PlacedTable {
  /** Removes the live parts that it stands for. */
  finish(): SealedTable;
}

function prepareTable(node: NodeRecording, name: string, options: SealOptions, open: boolean): ReadyTable {
  const { folder } = node;
  const step = options.step ?? (() => {});
  const files = tableFiles(fileNames(folder).files).get(name) ?? { parts: [] };
  node.tables.set(name, files);
  const sizes = new Map(files.parts.map((partFile) => [partFile, sizeOf(path.join(folder, partFile))]));
  const parquet = path.join(folder, parquetName(name));
  const packed = path.join(folder, packedName(name));
  const statistics = path.join(folder, statisticsName(name));
  // somebody else, perhaps on another node, may be sealing the same table
  const unique = `${ownMark()}.tmp`;
  const newParquet = `${parquet}.${unique}`;
  const newPacked = `${packed}.${unique}`;
  const newStatistics = `${statistics}.${unique}`;
  const version = (): string => versionOf(parquet) + versionOf(packed);
  const versionBefore = version();
  const rejected = new Rejected();
  const former = [files.sealed, files.statistics].flatMap((each) => each ?? []);
  const before = [...sizes.values(), ...former.map((each) => sizeOf(path.join(folder, each)))].reduce(
    (a, b) => a + b,
    0,
  );
  const abandon = (): void => {
    for (const each of [newParquet, newPacked, newStatistics]) fs.rmSync(each, { force: true });
  };
  const orFault = <T>(work: () => T): T => {
    try {
      return work();
    } catch (error) {
      if (error instanceof Stopped) throw error;
      abandon();
      if (error instanceof Fault) throw error;
      const what = `cannot seal table ${name} of node ${node.name}: ${reason(error)}; the node stays as it was`;
      throw new Fault(what, { cause: error });
    }
  };
  const { written, kept } = orFault(() => {
    const targets = { parquet: newParquet, packed: newPacked, statistics: newStatistics };
    const written = writeTable(node, name, files, targets, rejected, options);
    step('written');
    return { written, kept: keepRejected(folder, rejected, written.damage, step) };
  });
  const [sealed, newSealed] = written.packed ? [packed, newPacked] : [parquet, newParquet];
  for (const size of sizes.values()) options.progress?.(size);
  const after = sizeOf(newParquet) + sizeOf(newPacked) + sizeOf(newStatistics);
  const sync = (): void => orFault(() => syncFile(newSealed));
  const placeTable = (): PlacedTable =>
    orFault(() => {
      if (version() !== versionBefore) {
        // somebody else sealed it meanwhile, perhaps with newer rows: begin again with theirs
        abandon();
        const again = prepareTable(node, name, { ...options, progress: () => {} }, open);
        again.sync();
        return again.moveIntoPlace();
      }
      if (!fs.existsSync(sealed)) rememberDamaged(folder, name, path.basename(sealed));
      fs.renameSync(newSealed, sealed);
      step('sealed renamed');
      if (written.measured) fs.renameSync(newStatistics, statistics);
      step('statistics renamed');
      written.overview?.write(folder, sizeOf(sealed));
      return { finish };
    });
  const finish = (): SealedTable =>
    orFault(() => {
      for (const each of former) {
        const file = path.join(folder, each);
        if (file === sealed || (file === statistics && written.measured)) continue;
        fs.rmSync(file, { force: true });
        step(`${each} removed`);
      }
      for (const [partFile, size] of sizes) {
        const file = path.join(folder, partFile);
        // what grew meanwhile has rows that are not sealed, and what an agent has open it goes on with
        if (sizeOf(file) !== size || (open && partFile === `${name}.csv`)) continue;
        if (kept.has(partFile) && size > 0) fs.renameSync(file, kept.get(partFile)!);
        else fs.rmSync(file, { force: true });
        step(`${partFile} removed`);
      }
      return { table: name, rows: written.rows, bytes_before: before, bytes_after: after };
    });
  return { sync, moveIntoPlace: placeTable, abandon };
}

/** Thrown by tests in place of a crash: nothing is tidied up. */
export class Stopped extends Error {}

interface Written {
  rows: number;
  damage: Damage[];
  /** As compressed CSV. */
  packed: boolean;
  /** There are statistics. */
  measured: boolean;
  /** Of a large table. */
  overview?: OverviewMaker;
}

interface Targets {
  parquet: string;
  packed: string;
  statistics: string;
}

/** Longer tables are smaller as Parquet files: what these take for a column weighs less than what they save on it. */
const MOST_PACKED_ROWS = 1500;
/** Larger ones are quicker to read in part. */
const MOST_PACKED_VALUES = 1 << 18;
/** Rows that are read in a few milliseconds: their statistics would take a tenth of the size of a short job. */
const MOST_UNMEASURED_VALUES = 1 << 16;
/** What a column takes in a Parquet file at least: its names, where it is, its bounds, the head of its page. */
const PARQUET_COLUMN_BYTES = 180;
/** And what the file takes beside its columns: its description, its time. */
const PARQUET_FILE_BYTES = 500;

/** Writes the table as what is smaller, and its statistics. */
function writeTable(
  node: NodeRecording,
  name: string,
  files: TableFiles,
  targets: Targets,
  rejected: Rejected,
  options: SealOptions,
): Written {
  const valuesAtOnce = options.valuesAtOnce ?? 8e6;
  const whole = estimateValues(node.folder, files) <= valuesAtOnce;
  const reject = (partFile: string, bytes: Uint8Array): void => rejected.add(partFile, bytes);
  // keys, times and what decides which processes are described come first; the rest follows in groups
  const first = readTable(node, name, whole ? { reject } : { columns: [], reject });
  refuseBroken(files, first);
  const { table, rows, damage } = first;
  const values = rows * table.columns.length;
  const few = whole && rows <= MOST_PACKED_ROWS && values <= MOST_PACKED_VALUES && options.parquet !== true;
  const csv = few && isDescribed(node, table) && !isParquet(files.sealed) ? packCsv(first) : undefined;
  const short = damage.map((d) => ({ ...d, file: path.basename(d.file) }));
  const withVersion = (statistics: StatisticsFile): StatisticsFile =>
    short.length === 0 ? statistics : { ...statistics, damage: short };
  // what is wrong with a table is told in its statistics
  const measured = values > MOST_UNMEASURED_VALUES || damage.length > 0;
  if (csv === undefined || csv.length > PARQUET_FILE_BYTES + PARQUET_COLUMN_BYTES * table.columns.length) {
    const { statistics, overview } = writeParquet(node, name, first, whole, targets.parquet, valuesAtOnce);
    writeStatistics(targets.statistics, withVersion(statistics), targets.parquet);
    if (csv === undefined || csv.length >= sizeOf(targets.parquet) + (measured ? 0 : sizeOf(targets.statistics)))
      return { rows, damage, packed: false, measured: true, ...stated({ overview }) };
    fs.rmSync(targets.parquet);
    fs.rmSync(targets.statistics);
  }
  writeNew(targets.packed, csv);
  if (measured) writeStatistics(targets.statistics, withVersion(measure(first)), targets.packed);
  return { rows, damage, packed: true, measured };
}

/** Text alone does not say which of its columns are texts: what does goes to the tables of the node. */
function isDescribed(node: NodeRecording, table: Table): boolean {
  const described = (node.agent?.tables.length ?? 0) === 0 ? undefined : tableOf(node, table.name);
  return described !== undefined && table.columns.every(({ name }) => described.columns.some((c) => c.name === name));
}

/** Writes the Parquet file, a few columns at a time when the table is large, and measures them on the way. */
function writeParquet(
  node: NodeRecording,
  name: string,
  first: ReadBatch,
  whole: boolean,
  target: string,
  valuesAtOnce: number,
): { statistics: StatisticsFile; overview: OverviewMaker | undefined } {
  const { table, rows } = first;
  const numbers = table.columns.filter((column) => column.type !== 'text');
  const describing = [...table.columns.filter((c) => c.type === 'text').map((c) => c.name), ...cpuColumns(table)];
  const head = whole ? first : readAgain(node, name, describing, rows);
  const measured = measureSeries(head);
  const overview = OverviewMaker.of(head);

  const writer = new ParquetWriter(target, parquetColumns(table), rows, {
    metadata: packedMetadata(table),
    sync: false,
  });
  try {
    writer.column('time', head.time);
    for (const [column, texts] of head.texts) writer.column(column, texts);
    const atOnce = whole ? numbers.length : Math.max(1, Math.floor(valuesAtOnce / Math.max(1, rows)));
    for (let i = 0; i < numbers.length; i += atOnce) {
      const group = numbers.slice(i, i + atOnce);
      const batch = whole
        ? first
        : readAgain(
            node,
            name,
            group.map((c) => c.name),
            rows,
          );
      for (const column of group) {
        const values = batch.numbers.get(column.name)!;
        writer.column(column.name, values);
        measureColumn(measured, head, column, values);
        overview?.add(column, values);
      }
    }
    writer.finish();
  } catch (error) {
    writer.abandon();
    throw error;
  }
  return { statistics: measured.table, overview };
}

/** What is left of a damaged sealed file must not replace it. */
function refuseBroken({ sealed }: TableFiles, { damage }: ReadBatch): void {
  const other = damage.find((d) => d.not_plain);
  if (other !== undefined) throw new Error(`${path.basename(other.file)}: ${other.unreadable}`);
  const broken = damage.find((d) => path.basename(d.file) === sealed);
  if (broken === undefined) return;
  const why = broken.unreadable ?? `is damaged (${broken.lost_columns?.join(', ') ?? 'lines'})`;
  throw new Error(`${sealed} ${why}; tacho verify repairs what can be repaired`);
}

function readAgain(node: NodeRecording, name: string, columns: readonly string[], rows: number): ReadBatch {
  const batch = readTable(node, name, { columns });
  refuseBroken(node.tables.get(name) ?? { parts: [] }, batch);
  if (batch.rows !== rows) throw new Error('it grew while it was sealed; stop the agent first');
  return batch;
}

function estimateValues(folder: string, files: TableFiles): number {
  let values = 0;
  for (const partFile of files.parts) {
    values +=
      (sizeOf(path.join(folder, partFile)) * (partFile.endsWith('.zst') ? ZSTD_FACTOR : 1)) / CSV_BYTES_PER_VALUE;
  }
  // a sealed value takes about a byte
  return values + (files.sealed === undefined ? 0 : sizeOf(path.join(folder, files.sealed)));
}
