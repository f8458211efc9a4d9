import * as fs from 'node:fs';
import * as path from 'node:path';
import { Fault } from '../../base/fault.ts';
import type { Intervals } from '../../base/intervals.ts';
import { stated } from '../../base/stated.ts';
import { damageText } from '../../query/processes/processes.ts';
import { type Coarse, coarse } from '../../query/series/coarse.ts';
import { intervalsOf, type SpanQuery, sampledPart, selectEach } from '../../query/spans/select.ts';
import { lostWhy } from '../../query/summarise.ts';
import { noTable, tableOf } from '../../recording/folder/describe.ts';
import type { NodeRecording, Recording } from '../../recording/folder/open.ts';
import { readTable } from '../../recording/read/read.ts';
import type { Table } from '../../table/table.ts';
import type { NodeBatch } from './node-batch.ts';

/** One recording of the export, its job's id, and what of it is wanted. */
export interface Selected {
  recording: Recording;
  job: string;
  /** Only when a job has several recordings in the export: a name that keeps this one apart from all others. */
  name?: string;
  /** When. */
  intervals: Intervals;
}

/** Jobs by id; when some have several recordings, each recording also goes by the name of its folder. */
export function selectedOf(
  recordings: readonly Recording[],
  query: SpanQuery,
  note: (text: string) => void = () => {},
): Selected[] {
  const selections = selectEach(recordings, query, ({ path }, why) => note(`left out: ${path}: ${why.message}`));
  const twins = new Set(recordings.map(({ job }) => job.id)).size < recordings.length;
  const names = twins ? folderNames(recordings.map((recording) => path.resolve(recording.path))) : [];
  return recordings.flatMap((recording, i) => {
    if (!selections.has(recording)) return [];
    const selection = selections.get(recording);
    const nodes = recording.nodes.filter(({ name }) => selection?.nodes?.includes(name) ?? true);
    return {
      recording: { ...recording, nodes },
      job: recording.job.id,
      ...(twins ? { name: names[i]! } : {}),
      intervals: intervalsOf(sampledPart(selection)),
    };
  });
}

/** The last folder of each path, or as many of the last ones as it takes to tell the paths apart. */
function folderNames(paths: readonly string[]): string[] {
  for (let depth = 1; ; depth++) {
    const names = paths.map((each) => each.split(path.sep).slice(-depth).join('/'));
    if (new Set(names).size === new Set(paths).size) return names;
  }
}

/** The names of the tables to export: those asked for, or all there are. */
export function tableNames(selected: readonly Selected[], asked: readonly string[] | undefined): string[] {
  const recordedTables = [
    ...new Set(selected.flatMap(({ recording }) => recording.nodes.flatMap((node) => [...node.tables.keys()]))),
  ].sort();
  if (recordedTables.length === 0)
    throw new Fault('nothing to export: no samples were recorded', { hint: 'tacho verify says more' });
  for (const name of asked ?? []) if (!recordedTables.includes(name)) throw noTable(name, recordedTables);
  return asked === undefined || asked.length === 0 ? recordedTables : [...new Set(asked)];
}

/** The table as the node has it, confined to the columns asked for (undefined: all). */
export function columnsOf(node: NodeRecording, table: string, asked: readonly string[] | undefined): Table | undefined {
  const described = tableOf(node, table) ?? readTable(node, table, { columns: [] }).table;
  if (asked === undefined) return described;
  return { ...described, columns: asked.flatMap((name) => described.columns.find((c) => c.name === name) ?? []) };
}

export interface NodeBatchOptions {
  columns?: readonly string[];
  intervals: Intervals;
  /** Microseconds: that asked for (undefined: samples as they were taken), and that at which samples were taken. */
  interval?: number;
  sampled: number;
  coarse?: Coarse;
  /** Told of each file of which something could not be read; lost: more than single lines. */
  damaged?: (file: string, what: string, lost: boolean) => void;
}

/** What a node recorded of a table in some stretches of time; undefined when that is nothing. */
export function nodeBatchOf(
  { job, name }: Pick<Selected, 'job' | 'name'>,
  node: NodeRecording,
  table: string,
  options: NodeBatchOptions,
): NodeBatch | undefined {
  const { intervals, columns } = options;
  for (const lost of node.lost?.filter((each) => each.table === table) ?? []) {
    const file = path.join(node.folder, lost.file);
    options.damaged?.(file, `${file}: ${lostWhy(lost)}`, true);
  }
  if (!node.tables.has(table) || intervals.length === 0) return undefined;
  const batch = readTable(node, table, { intervals, ...stated({ columns }) });
  for (const damage of batch.damage) {
    const lost = damage.unreadable !== undefined || damage.lost_columns !== undefined;
    options.damaged?.(damage.file, damageText(damage), lost);
  }
  if (batch.rows === 0) return undefined;
  return {
    job,
    ...stated({ recording: name }),
    node: node.name,
    batch: options.interval === undefined ? batch : coarse(batch, options.interval, options.sampled, options.coarse),
  };
}

/** Bytes of a table's files: how much it will take in memory goes with it. */
export function bytesOf(selected: readonly Selected[], table: string): number {
  let bytes = 0;
  for (const { recording } of selected) {
    for (const node of recording.nodes) {
      const files = node.tables.get(table);
      for (const name of files === undefined
        ? []
        : [...files.parts, ...(files.sealed === undefined ? [] : [files.sealed])]) {
        bytes += fs.statSync(path.join(node.folder, name), { throwIfNoEntry: false })?.size ?? 0;
      }
    }
  }
  return bytes;
}
