import { counter, gauge, type Table } from '../../src/table/table.ts';

/** A level, and a total that grows. */
export const levelTable: Table = {
  name: 't',
  help: '',
  scope: 'node',
  keys: [],
  columns: [gauge('level', 'count', ''), counter('total', 'count', '')],
};
