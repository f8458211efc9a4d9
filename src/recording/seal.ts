import { randomBytes } from 'node:crypto';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { Fault, reason } from '../base/fault.ts';
import { isAlive } from './alive.ts';
import type { Damage } from './csv-read.ts';
import { type TableFiles, tableFiles } from './files.ts';
import { cpuColumns, measureColumn, measureSeries } from './measure.ts';
import type { NodeRecording, Recording } from './open.ts';
import { ParquetWriter, parquetColumns, tableMetadata } from './parquet/write.ts';
import { type ReadBatch, readTable } from './read.ts';
import { type StatisticsFile, writeStatistics } from './statistics-file.ts';
import { syncFolder } from './synced.ts';
import { keepRejected, Rejected } from './torn.ts';

export interface SealOptions {
  /** Seal nodes whose agent seems to be running, too: parts that still grow are kept. */
  force?: boolean;
  /** Leave a node as it is that would take more room sealed. */
  onlySmaller?: boolean;
  /** Called with the bytes of live parts that are done with. */
  progress?: (bytes: number) => void;
  /** How many values may be in memory at once (default 8 million). */
  valuesAtOnce?: number;
  /** Called after each step that reached the disk: tests stop there. */
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
  /** Or that sealing would have made it grow, from so many bytes to so many. */
  larger?: { bytes_before: number; bytes_after: number };
}

/** What live parts and an earlier sealed file stand for, in bytes of CSV. */
const CSV_BYTES_PER_VALUE = 5;
const ZSTD_FACTOR = 4;

/**
 * Turns live parts into one Parquet file a table, with its statistics beside it. Whatever happens on the way, the
 * recording stays readable and every sample counts once: live parts go only when their Parquet file is on the disk.
 */
export function sealRecording(recording: Recording, options: SealOptions = {}): SealedNode[] {
  return recording.nodes.map((node): SealedNode => {
    if (options.force !== true && isAlive(node, options.now)) {
      return { node: node.name, tables: [], skipped: 'its agent is still recording' };
    }
    const sealed = sealTables(node, options);
    node.tables = tableFiles(fs.readdirSync(node.folder));
    return { node: node.name, ...sealed };
  });
}

/** Smaller ones are as quick to read as they are, and grow by what a Parquet file says of itself. */
const WORTH_SEALING = 1 << 20;

export const isWorthSealing = (recording: Recording): boolean => liveBytes(recording) >= WORTH_SEALING;

/** Bytes of live parts that sealing would go through. */
export function liveBytes(recording: Recording): number {
  let bytes = 0;
  for (const node of recording.nodes) {
    for (const files of node.tables.values())
      for (const part of files.parts) bytes += sizeOf(path.join(node.folder, part));
  }
  return bytes;
}

/** All tables of a node or none: a disk that is too full for one of them leaves the node as it was. */
function sealTables(node: NodeRecording, options: SealOptions): Pick<SealedNode, 'tables' | 'larger'> {
  const ready: ReadyTable[] = [];
  try {
    for (const [name, files] of node.tables) {
      if (files.parts.length > 0 || files.statistics === undefined) ready.push(prepareTable(node, name, options));
    }
  } catch (error) {
    if (!(error instanceof Stopped)) for (const each of ready) each.abandon();
    throw error;
  }
  const [before, after] = [sum(ready, (each) => each.before), sum(ready, (each) => each.after)];
  if (options.onlySmaller === true && after > before) {
    for (const each of ready) each.abandon();
    return { tables: [], larger: { bytes_before: before, bytes_after: after } };
  }
  return { tables: ready.map((each) => each.finish()) };
}

const sum = (tables: readonly ReadyTable[], pick: (table: ReadyTable) => number): number =>
  tables.reduce((total, table) => total + pick(table), 0);

/** A table whose sealed form is written, under names that nobody reads. */
interface ReadyTable {
  /** Its bytes, statistics included. */
  before: number;
  after: number;
  /** Puts it in the place of the live parts. */
  finish(): SealedTable;
  abandon(): void;
}

function prepareTable(node: NodeRecording, name: string, options: SealOptions): ReadyTable {
  const { folder } = node;
  const step = options.step ?? (() => {});
  const files = tableFiles(fs.readdirSync(folder)).get(name) ?? { parts: [] };
  node.tables.set(name, files);
  const sizes = new Map(files.parts.map((part) => [part, sizeOf(path.join(folder, part))]));
  const sealed = path.join(folder, `${name}.parquet`);
  const statistics = path.join(folder, `${name}.stats.json`);
  // somebody else, perhaps on another node, may be sealing the same table
  const unique = `${process.pid}-${randomBytes(4).toString('hex')}.tmp`;
  const newSealed = `${sealed}.${unique}`;
  const newStatistics = `${statistics}.${unique}`;
  const version = versionOf(sealed);
  const rejected = new Rejected();
  const before = [...sizes.values()].reduce((a, b) => a + b, 0) + sizeOf(sealed) + sizeOf(statistics);
  const abandon = (): void => {
    fs.rmSync(newSealed, { force: true });
    fs.rmSync(newStatistics, { force: true });
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
    const written = writeTable(node, name, files, newSealed, rejected, options);
    step('parquet written');
    writeStatistics(newStatistics, written.statistics, newSealed);
    step('statistics written');
    return { written, kept: keepRejected(folder, rejected, written.damage, step) };
  });
  for (const size of sizes.values()) options.progress?.(size);
  const after = sizeOf(newSealed) + sizeOf(newStatistics);
  const finish = (): SealedTable =>
    orFault(() => {
      if (versionOf(sealed) !== version) {
        // somebody else sealed it meanwhile, perhaps with newer rows: begin again with theirs
        abandon();
        return prepareTable(node, name, { ...options, progress: () => {} }).finish();
      }
      fs.renameSync(newSealed, sealed);
      step('parquet renamed');
      fs.renameSync(newStatistics, statistics);
      step('statistics renamed');
      syncFolder(folder);
      for (const [part, size] of sizes) {
        const file = path.join(folder, part);
        // what grew meanwhile has rows that are not sealed
        if (sizeOf(file) !== size) continue;
        if (kept.has(part) && size > 0) fs.renameSync(file, kept.get(part)!);
        else fs.rmSync(file, { force: true });
        step(`${part} removed`);
      }
      return { table: name, rows: written.statistics.rows, bytes_before: before, bytes_after: after };
    });
  return { before, after, finish, abandon };
}

/** Thrown by tests in place of a crash: nothing is tidied up. */
export class Stopped extends Error {}

interface Written {
  statistics: StatisticsFile;
  damage: Damage[];
}

/** Writes the Parquet file, a few columns at a time when the table is large, and measures them on the way. */
function writeTable(
  node: NodeRecording,
  name: string,
  files: TableFiles,
  target: string,
  rejected: Rejected,
  options: SealOptions,
): Written {
  const valuesAtOnce = options.valuesAtOnce ?? 8e6;
  const whole = estimateValues(node.folder, files) <= valuesAtOnce;
  const reject = (part: string, bytes: Uint8Array): void => rejected.add(part, bytes);
  // keys, times and what decides which processes are described come first; the rest follows in groups
  const first = readTable(node, name, whole ? { reject } : { columns: [], reject });
  const { table, rows, damage } = first;
  refuseBroken(name, first);
  const numbers = table.columns.filter((column) => column.type !== 'text');
  const describing = [...table.columns.filter((c) => c.type === 'text').map((c) => c.name), ...cpuColumns(table)];
  const head = whole ? first : readAgain(node, name, describing, rows);
  const measured = measureSeries(head);

  const writer = new ParquetWriter(target, parquetColumns(table), rows, { metadata: tableMetadata(table) });
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
      }
    }
    writer.finish();
  } catch (error) {
    writer.abandon();
    throw error;
  }
  const short = damage.map((d) => ({ ...d, file: path.basename(d.file) }));
  return { statistics: short.length === 0 ? measured.table : { ...measured.table, damage: short }, damage };
}

/** What is left of a damaged sealed file must not replace it. */
function refuseBroken(name: string, { damage }: ReadBatch): void {
  const broken = damage.find((d) => d.file.endsWith('.parquet'));
  if (broken === undefined) return;
  const why = broken.unreadable ?? `is damaged (${broken.lost_columns?.join(', ')})`;
  throw new Error(`${name}.parquet ${why}; tacho verify heals what can be healed`);
}

function readAgain(node: NodeRecording, name: string, columns: readonly string[], rows: number): ReadBatch {
  const batch = readTable(node, name, { columns });
  refuseBroken(name, batch);
  if (batch.rows !== rows) throw new Error('it grew while it was sealed; stop the agent first');
  return batch;
}

function estimateValues(folder: string, files: TableFiles): number {
  let values = 0;
  for (const part of files.parts) {
    values += (sizeOf(path.join(folder, part)) * (part.endsWith('.zst') ? ZSTD_FACTOR : 1)) / CSV_BYTES_PER_VALUE;
  }
  // a sealed value takes about a byte
  return values + (files.sealed === undefined ? 0 : sizeOf(path.join(folder, files.sealed)));
}

/** Differs when the file was replaced. */
function versionOf(file: string): string {
  const stat = fs.statSync(file, { throwIfNoEntry: false });
  return stat === undefined ? '' : `${stat.ino} ${stat.mtimeMs} ${stat.size}`;
}

function sizeOf(file: string): number {
  return fs.statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}
