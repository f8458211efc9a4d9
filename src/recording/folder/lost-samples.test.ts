import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Table } from '../../table/table.ts';
import { lostWith } from './lost-samples.ts';

const table = (name: string, events?: true): Table => ({
  name,
  help: name,
  scope: 'job',
  keys: [],
  columns: [],
  ...(events === undefined ? {} : { events }),
});

test('what waited in the memory of a killed agent is lost, but not events, which come again', () => {
  const why = 'no space left on the device';
  const tables = [table('meminfo'), table('vmstat'), table('process_end', true), table('process_start', true)];
  const lost_samples = [
    { table: 'meminfo', rows: 1, why, since: 5, waiting: 4 },
    { table: 'vmstat', rows: 2, why },
    { table: 'process_end', rows: 0, why, waiting: 9 },
    { table: 'process_start', rows: 3, why, waiting: 9 },
  ];
  assert.deepEqual(lostWith({ tables, lost_samples }), [
    { table: 'meminfo', rows: 5, why, since: 5 },
    { table: 'vmstat', rows: 2, why },
    { table: 'process_start', rows: 3, why },
  ]);
  assert.deepEqual(lostWith({ tables }), []);
});
