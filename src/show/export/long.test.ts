import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { batchOf, memoryOutput, parseCsv, type Row, stream } from '../../../test/made/export-recording.ts';
import { gauge, type Table, text } from '../../table/table.ts';
import { writeLong } from './long.ts';
import { writeNdjson } from './ndjson.ts';

const table: Table = {
  name: 'things',
  help: 'Made up.',
  scope: 'node',
  keys: [
    { name: 'box', help: '' },
    { name: 'slot', help: '' },
  ],
  columns: [gauge('size_bytes', 'bytes', ''), text('label', ''), gauge('warmth_celsius', 'celsius', '', 'float', 2)],
};

const START = Date.UTC(2026, 0, 1) * 1000;
const rows: Row[] = [
  { time: START, box: 'a', slot: '0', size_bytes: 5e12, label: 'plain', warmth_celsius: 21.25 },
  { time: START + 1_000_250, box: 'a', slot: '0', label: 'with, comma', warmth_celsius: -3 },
  { time: START, box: 'b', slot: '0', size_bytes: 0, label: 'says "hi"\nand more' },
];

test('a long CSV file has a row a sample, ISO times, and empty cells where something is missing', async () => {
  const output = memoryOutput();
  const written = await writeLong(output, table, stream({ job: '17', node: 'c1', batch: batchOf(table, rows) }));
  assert.equal(written, 3);
  assert.equal(
    output.text(),
    'time,node,job,box,slot,size_bytes,label,warmth_celsius\n' +
      '2026-01-01T00:00:00.000000Z,c1,17,a,0,5000000000000,plain,21.25\n' +
      '2026-01-01T00:00:01.000250Z,c1,17,a,0,,"with, comma",-3\n' +
      '2026-01-01T00:00:00.000000Z,c1,17,b,0,0,"says ""hi""\nand more",\n',
  );
});

test('times can be microseconds since 1970; nodes and jobs stay apart; a node may lack a column', async () => {
  const less: Table = { ...table, columns: [table.columns[2]!] };
  const output = memoryOutput();
  await writeLong(
    output,
    table,
    stream(
      { job: '17', node: 'c1', batch: batchOf(table, rows.slice(0, 1)) },
      { job: '18', node: 'c,2', batch: batchOf(less, [{ time: START + 7, box: 'z', slot: '9', warmth_celsius: 0.5 }]) },
    ),
    { epoch: true },
  );
  const lines = output.text().split('\n');
  assert.equal(lines[1], `${START},c1,17,a,0,5000000000000,plain,21.25`);
  assert.equal(lines[2], `${START + 7},"c,2",18,z,9,,,0.5`);
});

test('NDJSON: an object a line, null where something is missing', async () => {
  const output = memoryOutput();
  await writeNdjson(output, table, stream({ job: '17', node: 'c1', batch: batchOf(table, rows) }));
  const objects = output
    .text()
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown);
  assert.deepEqual(objects, [
    {
      time: '2026-01-01T00:00:00.000000Z',
      node: 'c1',
      job: '17',
      box: 'a',
      slot: '0',
      size_bytes: 5e12,
      label: 'plain',
      warmth_celsius: 21.25,
    },
    {
      time: '2026-01-01T00:00:01.000250Z',
      node: 'c1',
      job: '17',
      box: 'a',
      slot: '0',
      size_bytes: null,
      label: 'with, comma',
      warmth_celsius: -3,
    },
    {
      time: '2026-01-01T00:00:00.000000Z',
      node: 'c1',
      job: '17',
      box: 'b',
      slot: '0',
      size_bytes: 0,
      label: 'says "hi"\nand more',
      warmth_celsius: null,
    },
  ]);
});

const value = fc.oneof(
  fc.constant(Number.NaN),
  fc.maxSafeInteger(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.integer({ min: -100_000, max: 100_000 }).map((n) => n / 100),
);
const row = fc.record({
  time: fc.integer({ min: 0, max: 4e15 }),
  box: fc.string(),
  slot: fc.constantFrom('0', '1'),
  size_bytes: value,
  label: fc.string({ unit: 'binary' }),
  warmth_celsius: value,
});

test('whatever is in a batch comes back from CSV and from NDJSON', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(row, { minLength: 1 }), async (made) => {
      const batch = batchOf(table, made as Row[]);
      const output = memoryOutput();
      await writeLong(output, table, stream({ job: '', node: 'n', batch }), { epoch: true });
      const [, ...lines] = parseCsv(output.text());
      const number = (cell: string): number => (cell === '' ? Number.NaN : Number(cell) + 0);
      const expected = made.map((r) => ({
        ...r,
        label: Buffer.from(r.label).toString(),
        box: Buffer.from(r.box).toString(),
      }));
      const read = lines.map(([time, , , box, slot, size, label, warmth]) => ({
        time: Number(time),
        box,
        slot,
        size_bytes: number(size!),
        label,
        warmth_celsius: number(warmth!),
      }));
      assert.deepEqual(
        read,
        expected.map((r) => ({ ...r, size_bytes: r.size_bytes + 0, warmth_celsius: r.warmth_celsius + 0 })),
      );

      const json = memoryOutput();
      await writeNdjson(json, table, stream({ job: '', node: 'n', batch }));
      const objects = json
        .text()
        .trimEnd()
        .split('\n')
        .map((l) => JSON.parse(l) as Record<string, unknown>);
      objects.forEach((object, i) => {
        const { size_bytes, label } = made[i]!;
        assert.equal(object.size_bytes, Number.isNaN(size_bytes) ? null : size_bytes + 0);
        assert.equal(object.label ?? '', label.toWellFormed());
      });
    }),
    { numRuns: 200 },
  );
});
