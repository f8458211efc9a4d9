import * as fs from 'node:fs';
import * as path from 'node:path';
import type { Damage } from '../recording/csv-read.ts';
import { measure } from '../recording/measure.ts';
import type { NodeRecording, Recording } from '../recording/open.ts';
import { quickCheck } from '../recording/parquet/read.ts';
import { readTable } from '../recording/read.ts';
import type { TableStatistics } from '../recording/statistics.ts';

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
    const sealed = whole && files.parts.length === 0 ? readStatistics(node, files.statistics) : undefined;
    if (sealed !== undefined) {
      const { damage: before, ...statistics } = sealed;
      tables.set(name, statistics);
      damage.push(...(before ?? []).map((each) => ({ ...each, table: name, file: path.join(node.folder, each.file) })));
      const why = quickCheck(path.join(node.folder, files.sealed!), name);
      if (why !== undefined) damage.push(lostFile(node, name, `${why}; only its statistics are left`));
      continue;
    }
    const { from, to } = options;
    const batch = readTable(node, name, {
      hold: true,
      ...(from === undefined ? {} : { from }),
      ...(to === undefined ? {} : { to }),
    });
    tables.set(name, measure(batch));
    damage.push(...batch.damage.map((each) => ({ ...each, table: name })));
  }
  for (const name of node.lost ?? []) damage.push(lostFile(node, name, 'it is missing'));
  return { node, tables, damage };
}

function lostFile(node: NodeRecording, table: string, unreadable: string): TableDamage {
  const file = path.join(node.folder, `${table}.parquet`);
  return { table, file, torn_bytes: 0, bad_lines: 0, first_bad: [], unreadable };
}

/** The statistics that seal left; undefined when there are none or they are damaged. */
function readStatistics(
  node: NodeRecording,
  file: string | undefined,
): (TableStatistics & { damage?: Damage[] }) | undefined {
  if (file === undefined) return undefined;
  try {
    const found = JSON.parse(fs.readFileSync(path.join(node.folder, file), 'utf8'));
    // JSON has no NaN: a table without rows has neither start nor end
    return { ...found, start: found.start ?? Number.NaN, end: found.end ?? Number.NaN };
  } catch {
    // they can be computed again from the table itself
    return undefined;
  }
}
