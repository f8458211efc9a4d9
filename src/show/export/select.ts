import * as fs from 'node:fs';
import * as path from 'node:path';
import { Fault, usage } from '../../base/fault.ts';
import { suggest } from '../../base/suggest.ts';
import { damageWords } from '../../query/processes/processes.ts';
import { lostWhy } from '../../query/summarise.ts';
import { tableOf } from '../../recording/folder/describe.ts';
import type { NodeRecording, Recording } from '../../recording/folder/open.ts';
import { textAt } from '../../recording/read/batch.ts';
import { readDefined, readTable } from '../../recording/read/read.ts';
import { markerTable } from '../../sources/own/marker.ts';
import type { Table } from '../../table/table.ts';
import { coarsen } from './coarsen.ts';
import { filterRows, type Piece } from './piece.ts';

/** A stretch of time in epoch microseconds, both ends included. */
export interface Range {
  from?: number;
  to?: number;
}

/** One recording of the export, its job's id, and which times are wanted. */
export interface Selected {
  recording: Recording;
  job: string;
  /** Only when a job has several recordings in the export: a name that keeps this one apart from all others. */
  name?: string;
  ranges: readonly Range[];
}

export interface Selection {
  from?: number;
  to?: number;
  /** Only while a phase of this name lasted. */
  marker?: string;
}

/** Jobs by id; when some have several recordings, each recording also goes by the name of its folder. */
export function select(recordings: readonly Recording[], selection: Selection): Selected[] {
  const twins = new Set(recordings.map(({ job }) => job.id)).size < recordings.length;
  const names = twins ? folderNames(recordings.map((recording) => path.resolve(recording.path))) : [];
  const range: Range = {
    ...(selection.from === undefined ? {} : { from: selection.from }),
    ...(selection.to === undefined ? {} : { to: selection.to }),
  };
  const selected = recordings.map((recording, i) => ({
    recording,
    job: recording.job.id,
    ...(twins ? { name: names[i]! } : {}),
    ranges: selection.marker === undefined ? [range] : phases(recording, selection.marker, range),
  }));
  if (selection.marker === undefined || selected.some(({ ranges }) => ranges.length > 0)) return selected;
  const known = [...new Set(recordings.flatMap((recording) => marks(recording).map(({ name }) => name)))];
  const meant = suggest(selection.marker, known);
  throw usage(
    `no marker "${selection.marker}" in what is exported`,
    meant !== undefined
      ? `did you mean "${meant}"?`
      : known.length > 0
        ? `there are: ${known.slice(0, 20).join(', ')}`
        : 'tacho mark begin NAME sets one while a job runs',
  );
}

/** The last folder of each path, or as many of the last ones as it takes to tell the paths apart. */
function folderNames(paths: readonly string[]): string[] {
  for (let depth = 1; ; depth++) {
    const names = paths.map((each) => each.split(path.sep).slice(-depth).join('/'));
    if (new Set(names).size === new Set(paths).size) return names;
  }
}

interface Mark {
  time: number;
  action: string;
  name: string;
}

function marks(recording: Recording): Mark[] {
  const all: Mark[] = [];
  for (const node of recording.nodes) {
    if (!node.tables.has(markerTable.name)) continue;
    const batch = readDefined(node, markerTable);
    for (let r = 0; r < batch.rows; r++) {
      all.push({ time: batch.time[r]!, action: textAt(batch, 'action', r), name: textAt(batch, 'name', r) });
    }
  }
  return all.sort((a, b) => a.time - b.time);
}

/** When phases of this name lasted; one that never ended lasts to the end. */
function phases(recording: Recording, name: string, range: Range): Range[] {
  const found: Range[] = [];
  let begin: number | undefined;
  let depth = 0;
  for (const mark of marks(recording)) {
    if (mark.name !== name) continue;
    if (mark.action === 'begin' && depth++ === 0) begin = mark.time;
    if (mark.action === 'end' && depth > 0 && --depth === 0) found.push({ from: begin!, to: mark.time });
  }
  if (depth > 0) found.push({ from: begin! });
  const from = range.from ?? Number.NEGATIVE_INFINITY;
  const to = range.to ?? Number.POSITIVE_INFINITY;
  return found
    .map((phase): Range => {
      const end = Math.min(phase.to ?? Number.POSITIVE_INFINITY, to);
      return { from: Math.max(phase.from!, from), ...(end === Number.POSITIVE_INFINITY ? {} : { to: end }) };
    })
    .filter((phase) => phase.to === undefined || phase.from! <= phase.to);
}

/** The names of the tables to export: those asked for, or all there are. */
export function tableNames(selected: readonly Selected[], asked: readonly string[] | undefined): string[] {
  const known = [
    ...new Set(selected.flatMap(({ recording }) => recording.nodes.flatMap((node) => [...node.tables.keys()]))),
  ].sort();
  if (known.length === 0)
    throw new Fault('nothing to export: no samples were recorded', { hint: 'tacho verify says more' });
  for (const name of asked ?? []) {
    if (known.includes(name)) continue;
    const meant = suggest(name, known);
    throw usage(
      `no table "${name}" was recorded`,
      meant === undefined ? `there are: ${known.join(', ')}` : `did you mean ${meant}? There are: ${known.join(', ')}`,
    );
  }
  return asked === undefined || asked.length === 0 ? known : [...new Set(asked)];
}

/** The table as the node has it, confined to the columns asked for (undefined: all). */
export function columnsOf(node: NodeRecording, table: string, asked: readonly string[] | undefined): Table | undefined {
  const described = tableOf(node, table) ?? readTable(node, table, { columns: [] }).table;
  if (asked === undefined) return described;
  return { ...described, columns: asked.flatMap((name) => described.columns.find((c) => c.name === name) ?? []) };
}

export interface PieceOptions {
  columns?: readonly string[];
  /** By time, and apart from each other. */
  ranges: readonly Range[];
  /** Microseconds: that asked for (undefined: samples as they were taken), and that at which samples were taken. */
  interval?: number;
  sampled: number;
  /** Told of each file of which something could not be read; lost: more than single lines. */
  damaged?: (file: string, what: string, lost: boolean) => void;
}

/** What a node recorded of a table in some ranges; undefined when that is nothing. */
export function pieceOf(
  { job, name }: Pick<Selected, 'job' | 'name'>,
  node: NodeRecording,
  table: string,
  options: PieceOptions,
): Piece | undefined {
  const { ranges } = options;
  for (const lost of node.lost?.filter((each) => each.table === table) ?? []) {
    const file = path.join(node.folder, lost.file);
    options.damaged?.(file, `${file}: ${lostWhy(lost)}`, true);
  }
  if (!node.tables.has(table) || ranges.length === 0) return undefined;
  const { from } = ranges[0]!;
  const { to } = ranges.at(-1)!;
  const batch = readTable(node, table, {
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
    ...(options.columns === undefined ? {} : { columns: options.columns }),
  });
  for (const damage of batch.damage) {
    const lost = damage.unreadable !== undefined || damage.lost_columns !== undefined;
    options.damaged?.(damage.file, damageWords(damage), lost);
  }
  const inside = (time: number): boolean => ranges.some((r) => time >= (r.from ?? time) && time <= (r.to ?? time));
  const wanted = ranges.length === 1 ? batch : filterRows(batch, (row) => inside(batch.time[row]!));
  if (wanted.rows === 0) return undefined;
  return {
    job,
    ...(name === undefined ? {} : { recording: name }),
    node: node.name,
    batch: options.interval === undefined ? wanted : coarsen(wanted, options.interval, options.sampled),
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
