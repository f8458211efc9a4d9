import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { CSV_COLUMNS, csvText, JOB_START, madeProcess } from '../../../test/made/epmt-archive.ts';
import { arrange } from '../../recording/read/arrange.ts';
import { addImpliedThreads } from '../../recording/read/implied-threads.ts';
import { Rows } from '../../recording/read/rows.ts';
import { threadEndTable } from '../../sources/records/tables.ts';
import { readCsv } from './csv.ts';
import { ProcessRows } from './rows.ts';
import { metricsOf, tablesOf } from './tables.ts';

test('processes come by pid, start and end, each once, and no two with one identity', () => {
  const pid = fc.oneof(fc.integer({ min: 1, max: 5 }), fc.constantFrom(2 ** 22, 2 ** 31, 2 ** 32));
  const process = fc.tuple(pid, fc.nat(3), fc.nat(3));
  fc.assert(
    fc.property(fc.array(process, { minLength: 1, maxLength: 30 }), (given) => {
      const made = given.map(([id, after, lasted]) =>
        madeProcess(id, { start: JOB_START + after, end: JOB_START + after + lasted }),
      );
      const rows = new ProcessRows();
      readCsv({ name: 'c1-papiex-1-0.csv', bytes: Buffer.from(csvText(made, CSV_COLUMNS[41])) }, rows);
      const { processes, threads, threadCount } = tablesOf(rows, metricsOf(rows), Uint32Array.from(made.keys()));
      // each is its process's only thread: none is written, all are read
      assert.deepEqual([threads.rows, threadCount], [0, processes.rows]);
      const read = new Rows();
      addImpliedThreads(read, [], processes);
      const distinct = [...new Map(given.map((each) => [each.join(' '), each])).values()];
      // a pid and a start are one process: the next one begins a microsecond later
      const last = new Map<number, number>();
      const expected = distinct
        .sort(([a, s, d], [b, t, e]) => a - b || s - t || d - e)
        .map(([id, after, lasted]) => {
          const start = Math.max(JOB_START + after, (last.get(id) ?? 0) + 1);
          last.set(id, start);
          return [String(id), String(start), Math.max(JOB_START + after + lasted, start)];
        });
      for (const batch of [processes, arrange(read, threadEndTable)]) {
        const text = (name: string, row: number): string => {
          const { codes, values } = batch.texts.get(name)!;
          return values[codes[row]!]!;
        };
        const threadRows = Array.from(batch.time, (end, row) => [text('pid', row), text('start', row), end]);
        assert.deepEqual(threadRows, expected);
      }
    }),
  );
});
