import * as path from 'node:path';
import { markerTable } from '../../sources/own/marker.ts';
import type { NodeRecording, Recording } from '../folder/open.ts';
import { textAt } from './batch.ts';
import type { Damage } from './csv-read.ts';
import { readDefined } from './read.ts';

/** One row of the table `marker`. */
export interface Marker {
  /** Epoch microseconds. */
  time: number;
  node: string;
  action: 'begin' | 'end' | 'fom';
  name: string;
  /** Figures of merit only. */
  value?: string;
  /** The process that marked it, where it wrote the mark itself. */
  pid?: string;
}

/** In 2001 and in 2100. */
const FIRST_TIME_US = 1e15;
const LAST_TIME_US = 4.1e15;

type Damaged = (node: NodeRecording, damage: Damage & { table: string }) => void;

/** What programs on a node have marked, by time. */
export function markersOf(node: NodeRecording, damaged: Damaged = () => {}): Marker[] {
  if (!node.tables.has(markerTable.name)) return [];
  const batch = readDefined(node, markerTable);
  for (const damage of batch.damage) damaged(node, { ...damage, table: markerTable.name });
  const markers: Marker[] = [];
  const unusable: string[] = [];
  for (let row = 0; row < batch.rows; row++) {
    const action = textAt(batch, 'action', row);
    if (action !== 'begin' && action !== 'end' && action !== 'fom') {
      unusable.push(`the action "${action.slice(0, 20)}", which is not begin, end or fom`);
      continue;
    }
    // anybody may write lines: seconds or milliseconds would be taken for a moment long ago
    if (batch.time[row]! < FIRST_TIME_US || batch.time[row]! > LAST_TIME_US) {
      unusable.push(`the time ${batch.time[row]}, which is not in microseconds`);
      continue;
    }
    const marker: Marker = { time: batch.time[row]!, node: node.name, action, name: textAt(batch, 'name', row) };
    const number = batch.numbers.get('value')?.[row];
    const value = number === undefined ? textAt(batch, 'value', row) : Number.isNaN(number) ? '' : String(number);
    if (value !== '') marker.value = value;
    const pid = textAt(batch, 'pid', row);
    if (pid !== '') marker.pid = pid;
    markers.push(marker);
  }
  if (unusable.length > 0) {
    const first_bad = unusable.slice(0, 5).map((why) => ({ why }));
    const file = path.join(node.folder, `${markerTable.name}.csv`);
    damaged(node, { file, torn_bytes: 0, bad_lines: unusable.length, first_bad, table: markerTable.name });
  }
  return markers;
}

/** What was marked on any node, by time. */
export const recordedMarkers = ({ nodes }: Pick<Recording, 'nodes'>, damaged?: Damaged): Marker[] =>
  nodes.flatMap((node) => markersOf(node, damaged)).sort((a, b) => a.time - b.time);

/** A phase as it was marked; without an end it was never ended. */
export interface MarkedPhase {
  begin: Marker;
  end?: Marker;
}

/**
 * Pairs each end with the newest open begin of the same name: of the same process, else of its node, else of any. Processes
 * that mark by themselves are kept apart. Phases may nest and repeat. By their begin.
 */
export function pairPhases(markers: readonly Marker[]): MarkedPhase[] {
  const open: MarkedPhase[] = [];
  const phases: MarkedPhase[] = [];
  for (const marker of markers) {
    if (marker.action === 'begin') phases.push(open[open.push({ begin: marker }) - 1]!);
    if (marker.action !== 'end') continue;
    const at = beginOf(open, marker);
    if (at >= 0) open.splice(at, 1)[0]!.end = marker;
  }
  return phases;
}

function beginOf(open: readonly MarkedPhase[], end: Marker): number {
  const newest = (isMeant: (begin: Marker) => boolean): number =>
    open.findLastIndex(({ begin }) => begin.name === end.name && isMeant(begin));
  const isHere = ({ node }: Marker): boolean => node === end.node;
  const own = newest((begin) => isHere(begin) && begin.pid === end.pid);
  if (own >= 0) return own;
  // a phase may begin in a script and end in its program
  const isOther = ({ pid }: Marker): boolean => pid !== undefined && end.pid !== undefined;
  const here = newest((begin) => isHere(begin) && !isOther(begin));
  return here >= 0 ? here : newest((begin) => !isOther(begin));
}
