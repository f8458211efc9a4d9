import * as fs from 'node:fs';
import * as path from 'node:path';
import { code, Fault, reason } from '../../base/fault.ts';
import { stated } from '../../base/stated.ts';
import type { Column, NameIn, Table } from '../../table/table.ts';
import { columnsByName, formOf, guessColumn, guessTable, headerOf, layoutOf, tableOf } from '../folder/describe.ts';
import { fileNames } from '../folder/file-names.ts';
import { isParquet, type TableFiles, tableFiles } from '../folder/files.ts';
import type { NodeRecording } from '../folder/open.ts';
import { isNumbered } from '../folder/part-name.ts';
import { readParquet } from '../sealed/parquet/read.ts';
import { arrange } from './arrange.ts';
import type { Batch, BatchOf, ReadOptions } from './batch.ts';
import { clip } from './clip.ts';
import { type CsvOptions, type Damage, readCsv, readCsvBytes } from './csv-read.ts';
import { addImpliedThreads, impliedBy, impliedColumns } from './implied-threads.ts';
import { Rows } from './rows.ts';

/** A batch, and what could not be read of its files. */
export interface ReadBatch extends Batch {
  damage: Damage[];
}

/** The same of a table whose definition is known: only its columns can be asked for. */
export interface DefinedReadBatch<T extends Table> extends BatchOf<T> {
  damage: Damage[];
}

export interface ReadAllOptions<N extends string = string> extends ReadOptions<N> {
  /** In sparse tables a row holds until the next one: keep the row that held at `from`, and what holds at `to`. */
  hold?: boolean;
  /** Say what was reached at `from` and at `to` when these lie between two samples. */
  edges?: boolean;
  /** Receives, by the name of the part, the bytes of lines that were not taken. */
  reject?: (filePart: string, bytes: Uint8Array) => void;
  /** False: without the rows that another table implies (`implied_by`). */
  implied?: boolean;
}

/**
 * The rows of a table of a node, from live parts, rolled parts and sealed file alike, sorted by keys and time.
 * A row that is in two files (a crash while rolling or sealing leaves that) comes once.
 *
 *     const gpu = readDefined(node, gpuTable, { columns: ['power_watts'], from, to });
 */
export function readDefined<T extends Table>(
  node: NodeRecording,
  { name }: T,
  options: ReadAllOptions<NameIn<T>> = {},
): DefinedReadBatch<T> {
  return readTable(node, name, options);
}

/** Whether rows of a table are at hand: of a job in a store that was downloaded, there may be statistics alone. */
export const hasRows = ({ tables, memory }: NodeRecording, table: string): boolean =>
  tables.has(table) && (memory === undefined || memory.get(table)?.rows !== undefined);

/** The same of a table that only its name tells. */
export function readTable(node: NodeRecording, table: string, options: ReadAllOptions = {}): ReadBatch {
  const inMemory = node.memory?.get(table)?.rows;
  if (inMemory !== undefined) return clipped(node, inMemory, options);
  let files = node.tables.get(table) ?? { parts: [] };
  // an agent that is still running may roll a part while it is read: then once more
  for (let attempt = 0; ; attempt++) {
    try {
      const batch = readFiles(node, table, files, options);
      if (attempt === 0 && isUnchanged(node)) return batch;
      const now = filesOf(node, table);
      if (attempt === 3 || sameFiles(files, now)) return batch;
      files = now;
    } catch (error) {
      if (error instanceof Fault) throw error;
      const again = attempt < 3 && code(error) === 'ENOENT' && fs.existsSync(node.folder);
      if (again) files = filesOf(node, table);
      else throw new Fault(`cannot read table ${table} of node ${node.name}: ${reason(error)}`, { cause: error });
    }
  }
}

/** Clocks of file systems are coarse, and may differ from ours: what was changed a moment ago may have been changed again. */
const SETTLED_MS = 60_000;

/** Of a node whose agent has ended: it rolls no parts any more. */
const ENDED_MS = 2_000;

const isUnchanged = ({ changed = Number.NaN, folder, agent }: NodeRecording): boolean =>
  Date.now() - changed > (agent?.end === undefined ? SETTLED_MS : ENDED_MS) && fs.statSync(folder).mtimeMs === changed;

const NO_DAMAGE = { torn_bytes: 0, bad_lines: 0, first_bad: [] };

function filesOf(node: NodeRecording, table: string): TableFiles {
  return tableFiles(fileNames(node.folder).files).get(table) ?? { parts: [] };
}

const sameFiles = (a: TableFiles, b: TableFiles): boolean =>
  a.sealed === b.sealed && a.parts.length === b.parts.length && a.parts.every((partFile, i) => partFile === b.parts[i]);

function readFiles(node: NodeRecording, name: string, files: TableFiles, options: ReadAllOptions): ReadBatch {
  const described = tableOf(node, name);
  const rows = new Rows();
  const damage: Damage[] = [];
  const unfiled = node.unfiled?.get(name);
  // events are told apart by everything they say; a sealed file has done that already
  const distinct = files.parts.length === 0 && unfiled === undefined;
  const whole = options.columns === undefined || (described?.events === true && !distinct);
  const wanted = whole ? undefined : new Set(options.columns);
  let table: Table | undefined;
  const columnsSeen = new Map<string, Column>();

  if (isParquet(files.sealed)) {
    const file = path.join(node.folder, files.sealed!);
    try {
      const lost: string[] = [];
      const sealed = readParquet(file, rows, {
        name,
        ...(wanted === undefined ? {} : { wanted }),
        ...(described === undefined ? {} : { described }),
        ...stated({ within: distinct ? hullOf(options) : undefined }),
        lost: (column) => lost.push(column),
      });
      if (lost.length > 0) damage.push({ ...NO_DAMAGE, file, lost_columns: lost });
      table = { ...sealed, ...(described === undefined ? {} : { help: described.help }), columns: [] };
      for (const column of sealed.columns) columnsSeen.set(column.name, column);
    } catch (error) {
      if (code(error) === 'ENOENT') throw error;
      damage.push({ ...NO_DAMAGE, file, unreadable: reason(error) });
    }
  }

  const header = headerOf(node, name);
  const usual = described && formOf(described);
  let isUsual = false;
  const csv: CsvOptions = {
    ...stated({ header, usual }),
    layout(header, sample) {
      const uses = header === usual?.names ? usual.uses : layoutOf(described ?? table, header, sample);
      if (uses === undefined) return undefined;
      table ??= described ?? guessTable(name, header, uses);
      const { keys } = table;
      for (const key of keys) rows.addText(key.name);
      isUsual ||= header === usual?.names;
      if (header === usual?.names) return uses;
      const columns = described === undefined ? undefined : columnsByName(described);
      header.forEach((column, i) => {
        if (i === 0 || columnsSeen.has(column) || keys.some((key) => key.name === column)) return;
        columnsSeen.set(column, columns?.get(column) ?? guessColumn(column, uses[i]!));
      });
      return uses;
    },
    wanted: (column) =>
      wanted === undefined || wanted.has(column) || (table?.keys.some((k) => k.name === column) ?? false),
  };
  const partFiles =
    files.sealed === undefined || isParquet(files.sealed) ? files.parts : [files.sealed, ...files.parts];
  const sizes =
    partFiles.length < 2 ? [] : partFiles.map((partFile) => fs.statSync(path.join(node.folder, partFile)).size);
  for (const [i, partFile] of partFiles.entries()) {
    if (i === 1) reserveLike(rows, sizes);
    // the compressed form is there and whole: the plain one was about to be removed
    const packed = path.join(node.folder, `${partFile}.zst`);
    if (isNumbered(partFile) && partFiles[i - 1] === `${partFile}.zst` && damage.at(-1)?.file !== packed) continue;
    const { reject } = options;
    if (reject !== undefined) csv.reject = (bytes) => reject(partFile, bytes);
    const csvRead = readCsv(path.join(node.folder, partFile), rows, csv);
    if (csvRead.torn_bytes > 0 || csvRead.bad_lines > 0 || csvRead.unreadable !== undefined || csvRead.lost_header)
      damage.push(csvRead);
  }
  if (unfiled !== undefined) readCsvBytes(unfiled, rows, csv);

  table ??= described ?? guessTable(name, ['time'], ['time']);
  if (isUsual && columnsSeen.size > 0) for (const column of described!.columns) columnsSeen.set(column.name, column);
  const columns = isUsual && columnsSeen.size === 0 ? described!.columns : orderColumns(columnsSeen, described);
  for (const key of table.keys) rows.addText(key.name);
  const implying = impliedBy(table);
  // without all rows that there were, nobody knows which processes have none
  if (implying !== undefined && damage.length === 0 && options.implied !== false) {
    const names = columns.map((column) => column.name).filter((column) => wanted?.has(column) ?? true);
    const processes = readTable(node, implying, { columns: impliedColumns(names) });
    damage.push(...processes.damage);
    addImpliedThreads(rows, names, processes);
  }
  return clipped(node, arrange(rows, { ...table, columns }, distinct), options, damage);
}

/** From when to when rows are wanted; undefined: of any time, or what lies around that counts, too. */
function hullOf({ from, to, intervals, hold, edges }: ReadAllOptions): [from: number, to: number] | undefined {
  if (hold === true || edges === true) return undefined;
  if (intervals === undefined)
    return from === undefined && to === undefined
      ? undefined
      : [from ?? Number.NEGATIVE_INFINITY, to ?? Number.POSITIVE_INFINITY];
  const [first, last] = [intervals[0], intervals.at(-1)];
  return first === undefined || last === undefined ? undefined : [first[0], last[1]];
}

function clipped(node: NodeRecording, rows: Batch, options: ReadAllOptions, damage: Damage[] = []): ReadBatch {
  const sampling = samplingOf(node, rows.table.name);
  return { ...clip({ ...rows, ...sampling }, options), damage };
}

/** How often a table of a node was sampled, and since when, as far as that is known. */
export function samplingOf({ agent }: NodeRecording, table: string): Pick<Batch, 'interval_seconds' | 'began'> {
  const seldom = agent?.tables.find(({ name }) => name === table)?.every ?? 0;
  const every = Math.max(seldom, agent?.interval_seconds ?? Number.NaN);
  const began = agent?.start ?? Number.NaN;
  return { ...(every > 0 ? { interval_seconds: every } : {}), ...(began > 0 ? { began } : {}) };
}

/** Room for all parts at once, going by what the first one held. */
function reserveLike(rows: Rows, sizes: readonly number[]): void {
  const total = sizes.reduce((a, b) => a + b, 0);
  const estimate = Math.ceil((rows.length / Math.max(1, sizes[0]!)) * total * 1.05);
  rows.reserve(Math.min(estimate, 1 << 24) - rows.length);
}

/** The columns that the files have, in the order of the description. */
function orderColumns(columnsSeen: ReadonlyMap<string, Column>, described: Table | undefined): Column[] {
  const describedColumns = described?.columns.filter((c) => columnsSeen.has(c.name)) ?? [];
  const names = new Set(describedColumns.map((c) => c.name));
  return [...describedColumns, ...[...columnsSeen.values()].filter((c) => !names.has(c.name))];
}
