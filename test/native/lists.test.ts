import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { METRICS, metricColumn } from '../../src/database/columns.ts';
import { migrations } from '../../src/database/migrations/index.ts';
import { PERF_EVENTS } from '../../src/sources/records/perf-events.ts';
import { PROCESS_METRICS } from '../../src/sources/records/tables.ts';

const native = (file: string): string => fs.readFileSync(path.join(import.meta.dirname, '../../native', file), 'utf8');

test('a line of the library has the metrics of the tables, in their order', () => {
  const [, list] = /enum metric \{([^}]*)\}/.exec(native('record.h'))!;
  const names = list!.split(',').map((name) => name.trim().toLowerCase());
  assert.equal(names.pop(), 'metrics');
  const perf = 'PERF_COUNT_SW_CPU_CLOCK';
  assert.deepEqual(
    names,
    PROCESS_METRICS.map(({ name }) => (name === perf ? 'cpu_clock' : name)),
  );
});

test('the library counts the perf events that have columns, under the same names', () => {
  const matches = native('record-events.c').matchAll(/^ {4}(?:HARDWARE|SOFTWARE|SCHEDULER)\((\w+), "([\w-]+)"\)/gm);
  assert.deepEqual(
    Array.from(matches, ([, name, alias]) => [name, alias]),
    Array.from(PERF_EVENTS, ([name, { alias }]) => [name, alias]),
  );
});

test('the database has a column for each metric of a process and of a thread', () => {
  const sql = migrations.map((one) => one.sql).join('\n');
  for (const table of ['processes', 'threads']) {
    const [, columns] = new RegExp(`create table tacho\\.${table} \\(([^;]*)\\);`).exec(sql)!;
    const metrics = Array.from(columns!.matchAll(/^ {2}(\w+) double precision,$/gm), ([, name]) => name!);
    const own = metrics.filter((name) => name !== 'cpu_time' && name !== 'inclusive_cpu_time');
    assert.deepEqual(own.sort(), METRICS.map(metricColumn).sort());
  }
});
