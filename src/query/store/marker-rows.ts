import { arrange } from '../../recording/read/arrange.ts';
import type { Batch } from '../../recording/read/batch.ts';
import type { Marker } from '../../recording/read/markers.ts';
import { Rows } from '../../recording/read/rows.ts';
import { markerTable } from '../../sources/own/marker.ts';

export type MarkerRow = Omit<Marker, 'node'>;

/** Markers as the rows of the table `marker`. */
export function markerBatch(markers: readonly MarkerRow[]): Batch {
  const columns = markerTable.col;
  const rows = new Rows();
  rows.addText(columns.action.name);
  rows.addText(columns.name.name);
  rows.addNumber(columns.value.name);
  rows.addText(columns.pid.name);
  rows.reserve(markers.length);
  for (const [i, { time, action, name, value, pid = '' }] of markers.entries()) {
    rows.time[i] = time;
    for (const [column, text] of [
      [columns.action, action],
      [columns.name, name],
      [columns.pid, pid],
    ] as const) {
      const { codes, pool } = rows.texts.get(column.name)!;
      codes[i] = pool.codeOf(text);
    }
    if (value !== undefined) rows.numbers.get(columns.value.name)![i] = Number(value);
  }
  rows.length = markers.length;
  return arrange(rows, markerTable);
}
