import assert from 'node:assert/strict';
import * as path from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { temporary } from '../../../test/make-recording.ts';
import { jobsTable } from '../tables/jobs.ts';
import { readRows, type SummaryRow, writeRows } from './row-file.ts';

const text = fc.string({ unit: 'grapheme', maxLength: 20 });
const row = fc.record(
  {
    time: fc.integer({ min: 0, max: 2 ** 52 }),
    job: text,
    cluster: text,
    user: text,
    name: text.filter((name) => name !== ''),
    end_time: fc.integer({ min: 0, max: 2 ** 52 }),
    cpu_use: fc.double({ min: 0, max: 1, noNaN: true }),
    memory_peak_bytes: fc.integer({ min: 0, max: 2 ** 50 }),
  },
  { requiredKeys: ['time', 'job', 'cluster', 'user'] },
);

test('rows come back as they were written, and what is missing stays missing', () => {
  const file = path.join(temporary(), 'rows.parquet');
  fc.assert(
    fc.property(fc.array(row, { minLength: 1, maxLength: 40 }), (rows) => {
      writeRows(file, jobsTable, rows);
      const sorted = rows.toSorted((a, b) => a.time - b.time) as SummaryRow[];
      const clean = sorted.map((one) => ({ ...one, ...(Object.is(one.cpu_use, -0) ? { cpu_use: 0 } : {}) }));
      assert.deepEqual(readRows(file, jobsTable), clean);
    }),
    { numRuns: 60 },
  );
});
