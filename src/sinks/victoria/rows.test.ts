import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { frameOf } from '../../../test/make-recording.ts';
import { MOST_COLUMNS } from '../../base/csv.ts';
import type { Labels } from '../../prometheus/series-labels.ts';
import { CsvText } from '../../recording/live/csv-write.ts';
import { gpu } from '../../sources/gpu/gpu.ts';
import { processStart } from '../../sources/records/records.ts';
import { counter, gauge, header, type Table, text } from '../../table/table.ts';
import { ImportBody } from './body.ts';
import { VictoriaRows } from './rows.ts';

const table: Table = {
  name: 'disk',
  help: '',
  scope: 'node',
  keys: [{ name: 'disk', help: '' }],
  columns: [counter('busy_ms', 'milliseconds', ''), gauge('queue', 'count', ''), text('model', '')],
};
const common: Labels = [
  ['node', 'c1'],
  ['job', '17'],
];

interface Line {
  metric: Record<string, string>;
  values: number[];
  timestamps: number[];
}

function lines(body: ImportBody): Line[] {
  return body
    .take()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
}

const add = (rows: VictoriaRows, body: ImportBody, head: string, ...csv: string[]): void =>
  rows.add(head, Buffer.from(`${csv.join('\n')}\n`), body);

const HEAD = 'time,disk,busy_ms,queue,model';

test('a line for each series, in base units, without what is missing', () => {
  const rows = new VictoriaRows('disk', table, common);
  const body = new ImportBody();
  add(rows, body, HEAD, '1000999,sda,1501,,', '2000000,sda,1502,3,', '3000000,sda,,4,', '3000000,sdb,7,0,');
  assert.equal(body.samples, 6);
  const name = (__name__: string, disk: string) => ({ __name__, node: 'c1', job: '17', disk });
  assert.deepEqual(lines(body), [
    { metric: name('tacho_disk_busy_seconds_total', 'sda'), values: [1.501, 1.502], timestamps: [1000, 2000] },
    { metric: name('tacho_disk_queue', 'sda'), values: [3, 4], timestamps: [2000, 3000] },
    { metric: name('tacho_disk_busy_seconds_total', 'sdb'), values: [0.007], timestamps: [3000] },
    { metric: name('tacho_disk_queue', 'sdb'), values: [0], timestamps: [3000] },
  ]);
  // nothing is left over for the next request
  add(rows, body, HEAD, '4000000,sda,1503,5,');
  assert.deepEqual(
    lines(body).map(({ values }) => values),
    [[1.503], [5]],
  );
});

test('texts are said when they are new and once a minute; one that is missing holds on', () => {
  const rows = new VictoriaRows('disk', table, common);
  const body = new ImportBody();
  add(
    rows,
    body,
    HEAD,
    '1000000,sda,1,1,"fast, ""new""\nold"',
    '2000000,sda,1,1,',
    '3000000,sda,1,1,slow',
    '61000000,sda,1,1,',
  );
  const info = lines(body).filter(({ metric }) => metric.__name__ === 'tacho_disk_info');
  assert.deepEqual(
    info.map(({ metric, timestamps }) => [metric.model, timestamps[0]]),
    [
      ['fast, "new"\nold', 1000],
      ['slow', 3000],
      ['slow', 61000],
    ],
  );
});

test('columns that nobody described are gauges; a damaged line is counted and costs only itself', () => {
  const rows = new VictoriaRows('disk', table, common);
  const body = new ImportBody();
  add(rows, body, 'time,disk,new_bytes,busy_ms', '1000000,sda,5,6', 'x,sda,1,2', '2000000,sda,1', '3000000,sda,oops,7');
  assert.equal(rows.bad, 2);
  assert.deepEqual(
    lines(body).map(({ metric, values }) => [metric.__name__, values]),
    [
      ['tacho_disk_new_bytes', [5]],
      ['tacho_disk_busy_seconds_total', [0.006, 0.007]],
    ],
  );
  add(rows, body, 'no,header', '1,2');
  assert.equal(rows.bad, 3);
});

test('events are no samples', () => {
  assert.equal(new VictoriaRows('process_start', processStart.table, common).wanted, false);
  assert.equal(new VictoriaRows('disk', table, common).wanted, true);
});

test("Omnistat's names, with its labels", () => {
  const rows = new VictoriaRows('gpu', gpu.table, common, { omnistat: true });
  const body = new ImportBody();
  add(rows, body, 'time,gpu,utilization_percent,energy_mj,vendor', '1000000,3,50,2500,AMD');
  assert.deepEqual(
    lines(body).filter(({ metric }) => !metric.__name__!.startsWith('tacho_')),
    [
      {
        metric: { __name__: 'rocm_utilization_percentage', instance: 'c1', card: '3' },
        values: [50],
        timestamps: [1000],
      },
      { metric: { __name__: 'rocm_energy_joules', instance: 'c1', card: '3' }, values: [2.5], timestamps: [1000] },
    ],
  );
});

test('whatever is written comes out: every value once, at its time, under its key', () => {
  const value = fc.option(fc.oneof(fc.nat(), fc.integer(), fc.double({ min: -1e9, max: 1e9, noNaN: true })), {
    nil: undefined,
  });
  const row = fc.record({ disk: fc.string(), busy_ms: value, queue: value, model: fc.string() });
  fc.assert(
    fc.property(fc.array(row, { maxLength: 40 }), (all) => {
      const csv = new CsvText();
      all.forEach(({ disk, busy_ms, queue, model }, i) => {
        const numbers = { ...(busy_ms === undefined ? {} : { busy_ms }), ...(queue === undefined ? {} : { queue }) };
        csv.frame(frameOf(table, [{ time: (i + 1) * 1e6, disk, model, ...numbers }]));
      });
      const body = new ImportBody();
      const rows = new VictoriaRows('disk', table, common);
      rows.add(header(table).join(','), Buffer.from(csv.bytes.subarray(0, csv.length)), body);
      assert.equal(rows.bad, 0);
      const exportedLines = lines(body).flatMap(({ metric, values, timestamps }) => {
        assert.equal(values.length, timestamps.length);
        if (metric.__name__ === 'tacho_disk_info') return [];
        return values.map((v, i) => `${metric.__name__} ${metric.disk ?? ''} ${timestamps[i]} ${v.toFixed(3)}`);
      });
      const wanted = all.flatMap(({ disk, busy_ms, queue }, i) => {
        const say = (name: string, v: number | undefined, scale: number): string[] =>
          v === undefined ? [] : [`${name} ${disk} ${(i + 1) * 1000} ${(rounded(v) / scale).toFixed(3)}`];
        return [...say('tacho_disk_busy_seconds_total', busy_ms, 1000), ...say('tacho_disk_queue', queue, 1)];
      });
      assert.deepEqual(exportedLines.sort(), wanted.sort());
    }),
  );
});

/** As a file has it: three digits behind the point. */
const rounded = (value: number): number => (Math.round(Math.abs(value) * 1000) / 1000) * Math.sign(value);

test('a header with more columns than any table has gives no series', () => {
  const body = new ImportBody();
  const head = (columns: number): string => ['time', ...Array.from({ length: columns - 1 }, (_, i) => `c${i}`)].join();
  const row = (columns: number): string => `1000000${',1'.repeat(columns - 1)}`;
  const rows = new VictoriaRows('many', undefined, common);
  add(rows, body, head(MOST_COLUMNS + 1), row(MOST_COLUMNS + 1));
  assert.deepEqual([body.samples, rows.bad], [0, 1]);
  // nor does a row that has them overflow anything
  add(rows, body, head(MOST_COLUMNS), row(500_000), `1000000,"1"${',1'.repeat(500_000)}`, row(MOST_COLUMNS));
  assert.deepEqual([body.samples, rows.bad], [MOST_COLUMNS - 1, 3]);
});

test('a table whose keys are more than the columns of its file gives no series', () => {
  const keys = Array.from({ length: 6 }, () => ({ name: 'disk', help: '' }));
  const body = new ImportBody();
  add(new VictoriaRows('disk', { ...table, keys }, common), body, HEAD, '1000000,sda,1501,,');
  assert.equal(body.samples, 0);
});
