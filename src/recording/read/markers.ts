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
}

type Damaged = (node: NodeRecording, damage: Damage & { table: string }) => void;

/** What programs on a node have marked, by time. */
export function markersOf(node: NodeRecording, damaged: Damaged = () => {}): Marker[] {
  if (!node.tables.has(markerTable.name)) return [];
  const batch = readDefined(node, markerTable);
  for (const damage of batch.damage) damaged(node, { ...damage, table: markerTable.name });
  const markers: Marker[] = [];
  for (let row = 0; row < batch.rows; row++) {
    const action = textAt(batch, 'action', row);
    if (action !== 'begin' && action !== 'end' && action !== 'fom') continue;
    const marker: Marker = { time: batch.time[row]!, node: node.name, action, name: textAt(batch, 'name', row) };
    const number = batch.numbers.get('value')?.[row];
    const value = number === undefined ? textAt(batch, 'value', row) : Number.isNaN(number) ? '' : String(number);
    if (value !== '') marker.value = value;
    markers.push(marker);
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

/** Pairs each end with the newest open begin of the same name, first of its own node; phases may nest and repeat. By their begin. */
export function pairPhases(markers: readonly Marker[]): MarkedPhase[] {
  const open: MarkedPhase[] = [];
  const phases: MarkedPhase[] = [];
  for (const marker of markers) {
    if (marker.action === 'begin') phases.push(open[open.push({ begin: marker }) - 1]!);
    if (marker.action !== 'end') continue;
    const here = open.findLastIndex(({ begin }) => begin.name === marker.name && begin.node === marker.node);
    const at = here >= 0 ? here : open.findLastIndex(({ begin }) => begin.name === marker.name);
    if (at >= 0) open.splice(at, 1)[0]!.end = marker;
  }
  return phases;
}
