import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { writeDemo } from '../src/demo/demo.ts';
import { findRecordings, openRecording } from '../src/recording/folder/open.ts';
import { sealRecording } from '../src/recording/sealed/seal.ts';
import { type ExportOptions, exportRecordings } from '../src/show/export/export.ts';
import { marker } from '../src/sources/own/marker.ts';
import { parseCsv } from './made/export-recording.ts';
import { appendRows, diskRows, makeRecording, START, temporary } from './make-recording.ts';
import { TACHO, tacho } from './tacho.ts';

async function exported(recordings: readonly string[], options: Partial<ExportOptions> = {}): Promise<string> {
  const folder = temporary();
  await exportRecordings(findRecordings(recordings), { format: 'csv', layout: 'long', folder, ...options });
  return folder;
}

/** With microseconds, which JavaScript's dates do not have. */
const iso = (time: number): string =>
  new Date(Math.floor(time / 1000)).toISOString().replace('Z', `${String(time % 1000).padStart(3, '0')}Z`);

/** Rows of a CSV file by its header. */
function rowsOf(file: string): Record<string, string>[] {
  const [header, ...rows] = parseCsv(fs.readFileSync(file, 'utf8'));
  return rows.map((row) => Object.fromEntries(row.map((cell, i) => [header![i]!, cell])));
}

test('every sample is in the long export, from live and from sealed files alike', async () => {
  const recording = await makeRecording({ nodes: ['c1', 'c2'], seconds: 25, rollEvery: 10 });
  const live = await exported([recording]);
  assert.deepEqual(fs.readdirSync(live).sort(), ['disk.csv', 'load.csv']);
  const expected = ['c1', 'c2'].flatMap((node) =>
    ['nvme10', 'sda'].flatMap((disk) =>
      diskRows(25)
        .filter((row) => row.disk === disk)
        .map((row) => ({
          time: iso(row.time),
          node,
          job: '17',
          disk,
          read_bytes: String(row.read_bytes),
          busy_percent: String(row.busy_percent),
          queue: row.queue === undefined ? '' : String(row.queue),
          model: String(row.model ?? ''),
        })),
    ),
  );
  assert.deepEqual(rowsOf(path.join(live, 'disk.csv')), expected);
  sealRecording(openRecording(recording));
  const sealed = await exported([recording]);
  for (const name of ['disk.csv', 'load.csv']) {
    assert.equal(fs.readFileSync(path.join(sealed, name), 'utf8'), fs.readFileSync(path.join(live, name), 'utf8'));
  }
});

test('a recording that still grows can be exported; its torn last line is left out and mentioned', async () => {
  const recording = await makeRecording({ seconds: 5 });
  fs.appendFileSync(path.join(recording, 'node=c1', 'load.csv'), '17947757');
  const notes: string[] = [];
  const folder = await exported([recording], { tables: ['load'], note: (text) => notes.push(text) });
  assert.equal(rowsOf(path.join(folder, 'load.csv')).length, 5);
  assert.equal(notes.length, 1);
  assert.match(notes[0]!, /node=c1\/load\.csv: the last line is torn and was left out/);
});

test('ranges, columns and intervals', async () => {
  const recording = await makeRecording({ seconds: 60 });
  const range = await exported([recording], { tables: ['load'], from: START + 10e6, to: START + 19e6, epoch: true });
  const rows = rowsOf(path.join(range, 'load.csv'));
  assert.deepEqual(
    rows.map((r) => Number(r.time)),
    Array.from({ length: 10 }, (_, i) => START + (10 + i) * 1e6),
  );
  assert.equal(rows[0]!.load1, '2.5');

  const columns = await exported([recording], { columns: ['queue', 'read_bytes'] });
  assert.deepEqual(fs.readdirSync(columns), ['disk.csv']);
  assert.deepEqual(Object.keys(rowsOf(path.join(columns, 'disk.csv'))[0]!), [
    'time',
    'node',
    'job',
    'disk',
    'queue',
    'read_bytes',
  ]);

  // START is 12 s after a full minute
  const coarse = await exported([recording], { tables: ['disk'], interval: 30, epoch: true });
  const sda = rowsOf(path.join(coarse, 'disk.csv')).filter((row) => row.disk === 'sda');
  assert.deepEqual(
    sda.map((row) => [Number(row.time), row.read_bytes]),
    [
      [START - 12e6, String(17 * 4096)],
      [START + 18e6, String(47 * 4096)],
      [START + 48e6, String(59 * 4096)],
    ],
  );
  const mean = (from: number, to: number): number => {
    const values = Array.from({ length: to - from }, (_, i) => ((from + i) % 10) + 0.25);
    return values.reduce((a, b) => a + b, 0) / values.length;
  };
  for (const [i, [from, to]] of [
    [0, 18],
    [18, 48],
    [48, 60],
  ].entries()) {
    // by time: samples lie up to 66 µs beside whole seconds
    assert.ok(Math.abs(Number(sda[i]!.busy_percent) - mean(from!, to!)) < 1e-4);
  }

  // by default over the interval of the samples; also where a table would be exported in stretches
  for (const [options, file] of [
    [{ interval: 30 }, 'disk.csv'],
    [{}, 'disk.csv'],
    [{ layout: 'wide', atOnce: 100 }, 'disk-wide.csv'],
  ] as const) {
    const folder = await exported([recording], { tables: ['disk'], columns: ['read_bytes'], rates: true, ...options });
    const text = fs.readFileSync(path.join(folder, file), 'utf8');
    const rates = [...text.matchAll(/(?:,sda|Z,[\d.]+),(\d+\.?\d*)/g)].map(([, rate]) => Number(rate));
    assert.equal(rates.length, 'interval' in options ? 3 : 59);
    for (const rate of rates) assert.ok(Math.abs(rate - 4096) < 1, `${file} ${rate}`);
  }
});

test('markers confine the export to their phases, every one of that name', async () => {
  const recording = await makeRecording({ seconds: 60 });
  const mark = (second: number, action: string, name: string) => ({ time: START + second * 1e6, action, name });
  await appendRows(path.join(recording, 'node=c1'), marker.table, [
    mark(5, 'begin', 'step'),
    mark(8, 'end', 'step'),
    mark(20, 'begin', 'other'),
    mark(50, 'begin', 'step'),
  ]);
  const folder = await exported([recording], { tables: ['load'], marker: 'step', epoch: true });
  const seconds = rowsOf(path.join(folder, 'load.csv')).map((row) => (Number(row.time) - START) / 1e6);
  assert.deepEqual(seconds, [5, 6, 7, 8, ...Array.from({ length: 10 }, (_, i) => 50 + i)]);
  const wide = await exported([recording], { tables: ['load'], marker: 'step', layout: 'wide' });
  assert.equal(parseCsv(fs.readFileSync(path.join(wide, 'load-wide.csv'), 'utf8')).length, 3 + 14);
  await assert.rejects(exported([recording], { marker: 'stepp' }), /job 17 has no phase "stepp"/);
});

test('several recordings: the job keeps them apart; recordings of one job have their folder in a column too', async () => {
  const parent = temporary();
  await makeRecording({ folder: path.join(parent, 'a'), seconds: 3, job: { id: '21' } });
  await makeRecording({ folder: path.join(parent, 'b'), seconds: 3, job: { id: '22' } });
  const two = rowsOf(path.join(await exported([parent], { tables: ['load'] }), 'load.csv'));
  assert.deepEqual(
    two.map((row) => row.job),
    ['21', '21', '21', '22', '22', '22'],
  );
  const wide = await exported([parent], { tables: ['load'], layout: 'wide' });
  assert.deepEqual(parseCsv(fs.readFileSync(path.join(wide, 'load-wide.csv'), 'utf8')).slice(0, 5), [
    ['metric', 'load1', 'load1'],
    ['job', '21', '22'],
    ['node', 'c1', 'c1'],
    ['time', '', ''],
    ['2026-11-15T20:49:12Z', '0', '0'],
  ]);
  await makeRecording({ folder: path.join(parent, 'c'), seconds: 1, job: { id: '22' } });
  const three = rowsOf(path.join(await exported([parent], { tables: ['load'] }), 'load.csv'));
  const whose = (row: Record<string, string>): string => `${row.job} ${row.recording}`;
  assert.deepEqual([...new Set(three.map(whose))], ['21 a', '22 b', '22 c']);
  const lines = await exported([parent], { tables: ['load'], format: 'ndjson' });
  const objects = fs.readFileSync(path.join(lines, 'load.ndjson'), 'utf8').trimEnd().split('\n');
  assert.deepEqual([...new Set(objects.map((line) => whose(JSON.parse(line))))], ['21 a', '22 b', '22 c']);
  const wider = await exported([parent], { tables: ['load'], layout: 'wide' });
  assert.deepEqual(parseCsv(fs.readFileSync(path.join(wider, 'load-wide.csv'), 'utf8')).slice(0, 5), [
    ['metric', 'load1', 'load1', 'load1'],
    ['job', '21', '22', '22'],
    ['recording', 'a', 'b', 'c'],
    ['node', 'c1', 'c1', 'c1'],
    ['time', '', '', ''],
  ]);
  // folders of one name are told apart by those above them
  await makeRecording({ folder: path.join(parent, 'again', 'c'), seconds: 1, job: { id: '22' } });
  const four = rowsOf(path.join(await exported([parent], { tables: ['load'] }), 'load.csv'));
  const top = path.basename(parent);
  assert.deepEqual([...new Set(four.map(whose))], [`21 ${top}/a`, '22 again/c', `22 ${top}/b`, `22 ${top}/c`]);
});

test('an array’s id means its tasks; another id is told what there is', async () => {
  const parent = temporary();
  for (const id of ['4_10', '4_2', '41'])
    await makeRecording({ folder: path.join(parent, id), seconds: 1, job: { id } });
  const jobs = (id: string) => tacho(['export', parent, '--job', id, '--table', 'load']);
  const rows = jobs('4').out.trimEnd().split('\n').slice(1);
  assert.deepEqual(new Set(rows.map((row) => row.split(',')[2])), new Set(['4_10', '4_2']));
  assert.match(jobs('5').err, /no recording of job 5 here\n.*there are 4_2, 4_10, 41\n/);
});

test('Parquet opens, with the values of the CSV', async () => {
  const { parquetReadObjects } = await import('hyparquet');
  const { asyncBufferFromFile } = await import('hyparquet/src/node.js');
  const { zstdDecompressSync } = await import('node:zlib');
  const recording = await makeRecording({ nodes: ['c1', 'c2'], seconds: 12 });
  const folder = await exported([recording], { format: 'parquet' });
  const csv = rowsOf(path.join(await exported([recording], { tables: ['disk'] }), 'disk.csv'));
  const compressors = { ZSTD: (bytes: Uint8Array) => new Uint8Array(zstdDecompressSync(bytes)) };
  const file = await asyncBufferFromFile(path.join(folder, 'disk.parquet'));
  const rows = (await parquetReadObjects({ file, compressors })) as Record<string, unknown>[];
  const text = (value: unknown): string => (value === null || value === undefined ? '' : String(value));
  assert.deepEqual(
    rows.map((row) => ({
      ...Object.fromEntries(Object.entries(row).map(([k, v]) => [k, text(v)])),
      time: (row.time as Date).toISOString(),
    })),
    csv.map((row) => ({ ...row, time: `${row.time!.slice(0, 23)}Z` })),
  );
  assert.deepEqual(Object.keys(rows[0]!), [
    'time',
    'node',
    'job',
    'disk',
    'read_bytes',
    'busy_percent',
    'queue',
    'model',
  ]);
});

test('a table that is too large for memory is exported in pieces, with the same result', async () => {
  const recording = await makeRecording({ nodes: ['c1', 'c2'], seconds: 200 });
  const mark = (second: number, action: string) => ({ time: START + second * 1e6, action, name: 'step' });
  await appendRows(
    path.join(recording, 'node=c2'),
    marker.table,
    [20, 90, 95, 180].map((s, i) => mark(s, i % 2 ? 'end' : 'begin')),
  );
  const ways: Partial<ExportOptions>[] = [
    { layout: 'wide' },
    { layout: 'wide', interval: 7 },
    { layout: 'wide', marker: 'step' },
    { format: 'parquet' },
    { format: 'parquet', interval: 7 },
  ];
  for (const way of ways) {
    const whole = await exported([recording], { ...way, tables: ['disk'] });
    const exportedParts = await exported([recording], { ...way, tables: ['disk'], atOnce: 2000 });
    const [name] = fs.readdirSync(whole);
    const equal = fs.readFileSync(path.join(exportedParts, name!)).equals(fs.readFileSync(path.join(whole, name!)));
    assert.ok(equal, JSON.stringify(way));
  }
});

test('the small demo is exported as it always was', async () => {
  const recording = await writeDemo({ folder: path.join(temporary(), 'demo'), nodes: 2, gpus: 2, seconds: 60 });
  const folder = await exported([recording], { tables: ['loadavg'] });
  await exportRecordings([openRecording(recording)], { format: 'csv', layout: 'omnistat', folder });
  await exportRecordings([openRecording(recording)], { format: 'ndjson', layout: 'long', folder, tables: ['marker'] });
  const golden = path.join(import.meta.dirname, 'fixtures', 'demo-export');
  for (const name of ['loadavg.csv', 'omnistat-rocm.csv', 'omnistat-network.csv', 'marker.ndjson']) {
    const text = fs.readFileSync(path.join(folder, name), 'utf8');
    if (process.env.UPDATE_GOLDEN) {
      fs.mkdirSync(golden, { recursive: true });
      fs.writeFileSync(path.join(golden, name), text);
    }
    assert.equal(text, fs.readFileSync(path.join(golden, name), 'utf8'), `${name} changed; UPDATE_GOLDEN=1 renews it`);
  }
});

test('the command line: one table to standard output, several need a folder, and mistakes are explained', async () => {
  const recording = await makeRecording({ seconds: 3 });
  const one = tacho(['export', recording, '--table', 'load', '--epoch']);
  assert.equal(one.code, 0, one.err);
  assert.equal(one.out, `time,node,job,load1\n${START},c1,17,0\n${START + 1e6},c1,17,0.25\n${START + 2e6},c1,17,0.5\n`);
  const expectations: [string[], number, RegExp][] = [
    [[recording], 2, /2 tables need a folder to go to\n.*-o DIR/],
    [[recording, '--table', 'lod', '--to', '-'], 2, /no table "lod" was recorded; did you mean "load"/],
    [[recording, '--columns', 'nothing', '--to', 'x'], 2, /no column "nothing" in disk, load/],
    [[recording, '--layout', 'wide', '--format', 'parquet', '--to', 'x'], 2, /wide layout is CSV only/],
    [[recording, '--layout', 'omnistat', '--to', temporary()], 1, /neither GPUs nor networks/],
    [[recording, '--layout', 'omnistat', '--table', 'disk', '--to', temporary()], 2, /has no table "disk"/],
    [[recording, '--layout', 'omnistat', '--columns', 'queue', '--to', temporary()], 2, /columns .* are fixed/],
    [[recording, '--layout', 'omnistat', '--rates', '--to', temporary()], 2, /columns .* are fixed\n.*--rates/],
    [[recording, '--format', 'parquet', '--table', 'load'], 2, /Parquet cannot go to standard output/],
    [[recording, '--interval', '0', '--table', 'load'], 2, /--interval/],
    [[recording, '--from', '2030-01-01T00:00Z', '--table', 'load'], 2, /nothing was recorded in the time asked for/],
    [[temporary()], 1, /no recording in/],
  ];
  for (const [args, code, message] of expectations) {
    const result = tacho(['export', ...args]);
    assert.match(result.err, message);
    assert.equal(result.code, code, args.join(' '));
    assert.doesNotMatch(result.err, /\n\s+at /);
  }
  const folder = temporary();
  const both = tacho(['export', recording, '--to', folder, '--from', '@1794775753', '--to', '@1794775753']);
  assert.equal(both.code, 0, both.err);
  assert.match(both.err, /load\.csv: 1 row,/);
});

test('the omnistat layout writes the file of the table that is asked for', async () => {
  const recording = await writeDemo({ folder: path.join(temporary(), 'demo'), nodes: 1, gpus: 1, seconds: 10 });
  const folder = await exported([recording], { layout: 'omnistat', tables: ['gpu'] });
  assert.deepEqual(fs.readdirSync(folder), ['omnistat-rocm.csv']);
  const copy = path.join(temporary(), 'copy');
  fs.cpSync(recording, copy, { recursive: true });
  const both = await exported([recording, copy], { layout: 'omnistat', tables: ['gpu'] });
  const { id } = openRecording(recording).job;
  assert.deepEqual(fs.readdirSync(path.join(both, id)), ['copy', 'demo']);
});

test('a recording of a newer version among others is left out, said, and told by the exit code', async () => {
  const parent = temporary();
  await makeRecording({ folder: path.join(parent, 'a'), seconds: 3, job: { id: '21' } });
  const newer = await makeRecording({ folder: path.join(parent, 'b'), seconds: 3 });
  const file = path.join(newer, 'job.json');
  fs.writeFileSync(file, JSON.stringify({ ...JSON.parse(fs.readFileSync(file, 'utf8')), format: 99 }));
  const each = fs.readdirSync(parent).map((name) => path.join(parent, name));
  for (const [args, shown] of [
    [['report', parent], /job 21|21/],
    [['report', ...each], /job 21|21/],
    [['export', parent, '--table', 'load'], /,c1,21,/],
    [['export', ...each, '--table', 'load'], /,c1,21,/],
    [['verify', parent], /a: ok/],
    [['verify', ...each], /a: ok/],
    [['list', '--tables', ...each], /load/],
    [['nodes', parent], /c1 /],
    [['seal', parent], /a: /],
    [['seal', ...each], /a: /],
  ] as const) {
    const result = tacho(args);
    assert.match(result.out, shown, args.join(' '));
    assert.match(result.err, /^tacho: left out: .*b\/job.json was written by a newer Tacho[^\n]*\n$/, args.join(' '));
    assert.equal(result.code, 1, args.join(' '));
  }
  for (const names of [each, each.toReversed()]) {
    const compared = tacho(['compare', ...names]);
    assert.match(compared.err, /^tacho: .*b\/job.json was written by a newer Tacho[^\n]*\n +update Tacho/);
    assert.equal(compared.code, 1);
  }
});

test('a reader that has seen enough ends the export quietly', async () => {
  const recording = await makeRecording({ seconds: 60 });
  const shell = spawnSync(
    'bash',
    ['-c', `"${TACHO}" export "${recording}" --table disk | head -n 1; echo "\${PIPESTATUS[0]}"`],
    // bash itself has a word for a language that is not installed
    { encoding: 'utf8', env: { ...process.env, LC_ALL: 'C' } },
  );
  assert.match(shell.stdout, /^time,node,job,disk,.*\n\d+\n$/);
  assert.equal(shell.stderr, '');
});
