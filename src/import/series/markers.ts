import { arrange } from '../../recording/arrange.ts';
import type { Batch } from '../../recording/batch.ts';
import { Rows } from '../../recording/rows.ts';
import type { Table } from '../../table/table.ts';

export interface MarkerRow {
  /** Epoch microseconds. */
  time: number;
  action: 'begin' | 'end' | 'fom';
  name: string;
  value?: string;
}

/** Markers as the rows of the table `marker`. */
export function markerBatch(table: Table, markers: readonly MarkerRow[]): Batch {
  const rows = new Rows();
  rows.addText('action');
  rows.addText('name');
  rows.addNumber('value');
  rows.reserve(markers.length);
  for (const [i, { time, action, name, value }] of markers.entries()) {
    rows.time[i] = time;
    for (const [column, text] of [
      ['action', action],
      ['name', name],
    ] as const) {
      const { codes, pool } = rows.texts.get(column)!;
      codes[i] = pool.codeOf(text);
    }
    if (value !== undefined) rows.numbers.get('value')![i] = Number(value);
  }
  rows.length = markers.length;
  return arrange(rows, table);
}
