import { defineTable, text } from '../../table/table.ts';
import { type SourceKind, Unavailable } from '../source.ts';

export const markerTable = defineTable({
  name: 'marker',
  help: 'Phases and figures of merit that the job itself has named (`tacho mark`, `tacho fom`, `TACHO_MARKS`, Python).',
  scope: 'job',
  events: true,
  keys: [],
  columns: [
    text('action', 'begin or end of a phase, or fom: a figure of merit.'),
    text('name', 'The name of the phase or figure.'),
    {
      name: 'value',
      type: 'float',
      unit: 'count',
      kind: 'gauge',
      exact: true,
      help: 'The value of a figure of merit, in its own unit.',
    },
    text('pid', 'The process that marked it, if it wrote the mark itself; empty with `tacho mark` and `tacho fom`.'),
  ],
});

/** No agent reads it: each row is appended by who marks, at that moment. */
export const marker: SourceKind = {
  table: markerTable,
  open() {
    throw new Unavailable('absent', 'markers are written by tacho mark and tacho fom');
  },
};
