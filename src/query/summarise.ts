import * as path from 'node:path';
import { append } from '../base/extremes.ts';
import type { TableFiles } from '../recording/folder/files.ts';
import type { NodeRecording, Recording } from '../recording/folder/open.ts';
import type { Damage } from '../recording/read/csv-read.ts';
import { readTable } from '../recording/read/read.ts';
import { measure } from '../recording/sealed/measure.ts';
import { quickCheck } from '../recording/sealed/parquet/read.ts';
import type { TableStatistics } from '../recording/sealed/statistics.ts';
import { isAsSealed, readStatistics } from '../recording/sealed/statistics-file.ts';

export interface SummariseOptions {
  /** Epoch microseconds, both included. */
  from?: number;
  to?: number;
  /** Only these tables. */
  tables?: readonly string[];
}

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

export function summariseNode(node: NodeRecording, options: SummariseOptions = {}): NodeSummary {
  const tables = new Map<string, TableStatistics>();
  const damage: TableDamage[] = [];
  for (const [name, files] of node.tables) {
    if (options.tables !== undefined && !options.tables.includes(name)) continue;
    const whole = options.from === undefined && options.to === undefined;
    // with live parts beside it, what seal left is not the whole table
    const isSealed = files.parts.length === 0 && node.unfiled?.has(name) !== true;
    const found = whole && isSealed ? wholeStatistics(node, name, files) : undefined;
    if (found !== undefined) {
      tables.set(name, found.statistics);
      append(damage, found.damage);
      continue;
    }
    const { from, to } = options;
    const batch = readTable(node, name, {
      hold: true,
      edges: true,
      ...(from === undefined ? {} : { from }),
      ...(to === undefined ? {} : { to }),
    });
    tables.set(name, measure(batch));
    append(
      damage,
      batch.damage.map((each) => ({ ...each, table: name })),
    );
  }
  for (const { table, file, kept, statistics } of node.lost ?? []) {
    const wanted = options.from === undefined && options.to === undefined && options.tables?.includes(table) !== false;
    const left = wanted && statistics !== undefined ? readStatistics(path.join(node.folder, statistics)) : undefined;
    if (left !== undefined) tables.set(table, left);
    const why = lostWhy({ kept });
    damage.push(lostFile(node, table, file, left === undefined ? why : `${why}; only its statistics are left`));
  }
  return { node, tables, damage };
}

/** Why a file is not there, in words. */
export const lostWhy = ({ kept }: { kept?: string | undefined }): string =>
  kept === undefined ? 'it is missing' : `it was damaged, and is kept as ${kept}`;

function lostFile(node: NodeRecording, table: string, name: string, unreadable: string): TableDamage {
  const file = path.join(node.folder, name);
  return { table, file, torn_bytes: 0, bad_lines: 0, first_bad: [], unreadable };
}

/** What is known of a whole table without its rows, and what is wrong with it; undefined when it has to be read. */
function wholeStatistics(
  node: NodeRecording,
  name: string,
  files: TableFiles,
): { statistics: TableStatistics; damage: TableDamage[] } | undefined {
  const inMemory = node.memory?.get(name);
  if (inMemory !== undefined) return { statistics: inMemory.statistics, damage: [] };
  if (files.statistics === undefined) return undefined;
  const found = readStatistics(path.join(node.folder, files.statistics));
  if (found === undefined) return undefined;
  const { damage: before = [], sealed, ...statistics } = found;
  const damage = before.map((each) => ({ ...each, table: name, file: path.join(node.folder, each.file) }));
  const file = path.join(node.folder, files.sealed!);
  if (sealed !== undefined && isAsSealed(file, sealed)) return { statistics, damage };
  const why = quickCheck(file, name);
  if (why !== undefined) damage.push(lostFile(node, name, files.sealed!, `${why}; only its statistics are left`));
  // a sound file that is not the one which was measured
  else if (sealed !== undefined) return undefined;
  return { statistics, damage };
}
