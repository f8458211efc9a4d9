import * as path from 'node:path';
import { append } from '../base/extremes.ts';
import { readPlain } from '../base/plain-file.ts';
import { isParquet, type TableFiles } from '../recording/folder/files.ts';
import type { NodeRecording, Recording } from '../recording/folder/open.ts';
import { type Clip, clip } from '../recording/read/clip.ts';
import type { Damage } from '../recording/read/csv-read.ts';
import { type ReadBatch, readTable } from '../recording/read/read.ts';
import { measure } from '../recording/sealed/measure.ts';
import { quickCheck } from '../recording/sealed/parquet/read.ts';
import type { TableStatistics } from '../recording/sealed/statistics.ts';
import { isAsSealed, readStatistics } from '../recording/sealed/statistics-file.ts';
import type { WantedFigures } from '../recording/sealed/statistics-text.ts';
import { MOST_PART_BYTES, unpackFile } from '../recording/sealed/unpack.ts';

/** When, in epoch microseconds, both ends included; empty: all the time. */
export type SampledTimes = Pick<Clip, 'from' | 'to' | 'intervals'>;

export interface SummariseOptions extends SampledTimes {
  /** Only these tables. */
  tables?: readonly string[];
}

/** Some columns of some tables. */
export type WantedColumns = ReadonlyMap<string, readonly string[]>;

/** What statistics need of the edges of a part. */
const KEPT = { hold: true, edges: true };

export interface TableDamage extends Damage {
  table: string;
}

export interface NodeSummary {
  node: NodeRecording;
  /** By the table's name. */
  tables: Map<string, TableStatistics>;
  /** What could not be read. */
  damage: TableDamage[];
}

export interface RecordingSummary {
  recording: Recording;
  nodes: NodeSummary[];
}

export type Summary = RecordingSummary[];

/** What every series of every table showed: one of the two questions that everything asks. */
export function summarise(recordings: readonly Recording[], options: SummariseOptions = {}): Summary {
  return recordings.map((recording) => ({
    recording,
    nodes: recording.nodes.map((node) => summariseNode(node, options)),
  }));
}

export function summariseNode(node: NodeRecording, { tables, ...part }: SummariseOptions = {}): NodeSummary {
  return summariseParts(node, [part], tables)[0]!;
}

/**
 * The same of several parts of the time, of some tables or columns: each table is read once. `spread`: only of these columns
 * deviations and percentiles. `atHand`: tables of all of the time that have been read already, with these columns and others.
 */
export function summariseParts(
  node: NodeRecording,
  sampledTimes: readonly SampledTimes[],
  tables?: readonly string[] | WantedColumns,
  spread?: WantedColumns,
  atHand?: (table: string) => ReadBatch | undefined,
): NodeSummary[] {
  const wanted = tables === undefined ? undefined : new Set(tables instanceof Map ? tables.keys() : tables);
  const summaries = sampledTimes.map((): NodeSummary => ({ node, tables: new Map(), damage: [] }));
  const isWhole = sampledTimes.map((sampledTime) => Object.keys(sampledTime).length === 0);
  for (const [name, files] of node.tables) {
    if (wanted?.has(name) === false) continue;
    const columns = tables instanceof Map ? { columns: tables.get(name)! as readonly string[] } : {};
    const figures: WantedFigures = {
      ...(columns.columns === undefined ? {} : { columns: new Set(columns.columns) }),
      ...(spread === undefined ? {} : { spread: new Set(spread.get(name)) }),
    };
    // with live parts beside it, what seal left is not the whole table
    const isSealed = files.parts.length === 0 && node.unfiled?.has(name) !== true;
    const sealed = isWhole.includes(true) && isSealed ? wholeStatistics(node, name, files, figures) : undefined;
    let batch: ReadBatch | undefined;
    summaries.forEach(({ tables, damage }, i) => {
      if (isWhole[i] && sealed !== undefined) {
        tables.set(name, sealed.statistics);
        append(damage, sealed.damage);
        return;
      }
      const isClipped = atHand === undefined && sampledTimes.length === 1;
      batch ??=
        withColumns(atHand?.(name), figures.columns) ??
        readTable(node, name, isClipped ? { ...KEPT, ...sampledTimes[0], ...columns } : columns);
      tables.set(name, measure(isClipped ? batch : clip(batch, { ...KEPT, ...sampledTimes[i] }), figures.spread));
      append(
        damage,
        batch.damage.map((each) => ({ ...each, table: name })),
      );
    });
  }
  for (const { table, file, kept, statistics } of node.lost ?? []) {
    const why = lostWhy({ kept });
    summaries.forEach(({ tables, damage }, i) => {
      const isLeft = isWhole[i] && wanted?.has(table) !== false && statistics !== undefined;
      const left = isLeft ? readStatistics(path.join(node.folder, statistics)) : undefined;
      if (left !== undefined) tables.set(table, left);
      damage.push(lostFile(node, table, file, left === undefined ? why : `${why}; only its statistics are left`));
    });
  }
  return summaries;
}

/** A batch with some of its columns. */
function withColumns(batch: ReadBatch | undefined, columns: ReadonlySet<string> | undefined): ReadBatch | undefined {
  if (batch === undefined || columns === undefined) return batch;
  const keys = new Set(batch.table.keys.map(({ name }) => name));
  const picked = <T>(all: Map<string, T>): Map<string, T> =>
    new Map([...all].filter(([name]) => keys.has(name) || columns.has(name)));
  const table = { ...batch.table, columns: batch.table.columns.filter(({ name }) => columns.has(name)) };
  return { ...batch, table, numbers: picked(batch.numbers), texts: picked(batch.texts) };
}

/** What `summariseParts` is asked, as one item for another thread. */
export type Asked = Parameters<typeof summariseParts>;

/** Its answer without the node, which whoever asks has. */
export const summariseAsked = (asked: Asked): Omit<NodeSummary, 'node'>[] =>
  summariseParts(...asked).map(({ node: _, ...summary }) => summary);

/** Why a file is not there, in words. */
export const lostWhy = ({ kept }: { kept?: string | undefined }): string =>
  kept === undefined ? 'it is missing' : `it was damaged, and is kept as ${kept}`;

function lostFile(node: NodeRecording, table: string, name: string, unreadable: string): TableDamage {
  const file = path.join(node.folder, name);
  return { table, file, torn_bytes: 0, bad_lines: 0, first_bad: [], unreadable };
}

/** What is wrong with a sealed table, without taking its rows apart; undefined: these have to be read. */
export function sealedDamage(node: NodeRecording, table: string): TableDamage[] | undefined {
  const files = node.tables.get(table);
  if (files?.sealed === undefined || files.parts.length > 0 || node.unfiled?.has(table) === true) return undefined;
  const measured = wholeStatistics(node, table, files, { columns: new Set() });
  if (measured !== undefined) return measured.damage;
  if (isParquet(files.sealed)) return undefined;
  try {
    const { unreadable } = unpackFile(readPlain(path.join(node.folder, files.sealed), MOST_PART_BYTES));
    return unreadable === undefined ? [] : undefined;
  } catch {
    return undefined;
  }
}

/** What is known of a whole table without its rows, and what is wrong with it; undefined when it has to be read. */
function wholeStatistics(
  node: NodeRecording,
  name: string,
  files: TableFiles,
  figures: WantedFigures,
): { statistics: TableStatistics; damage: TableDamage[] } | undefined {
  const inMemory = node.memory?.get(name);
  if (inMemory !== undefined) return { statistics: inMemory.statistics, damage: [] };
  if (files.statistics === undefined) return undefined;
  const measured = path.join(node.folder, files.statistics);
  const storedStatistics = readStatistics(measured, figures);
  if (storedStatistics === undefined) return undefined;
  const { damage: before = [], sealed, ...statistics } = storedStatistics;
  const damage = before.map((each) => ({ ...each, table: name, file: path.join(node.folder, each.file) }));
  const file = path.join(node.folder, files.sealed!);
  if (sealed !== undefined && isAsSealed(file, sealed, measured)) return { statistics, damage };
  const why = quickCheck(file, name);
  if (why !== undefined) damage.push(lostFile(node, name, files.sealed!, `${why}; only its statistics are left`));
  // a sound file that is not the one which was measured
  else if (sealed !== undefined) return undefined;
  return { statistics, damage };
}
