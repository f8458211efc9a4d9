import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { after, before, test } from 'node:test';
import { recordedProcesses } from '../src/query/processes/processes.ts';
import { openRecording, type Recording } from '../src/recording/folder/open.ts';
import type { Batch } from '../src/recording/read/batch.ts';
import { readTable } from '../src/recording/read/read.ts';
import { CSV_COLUMNS, csvText, madeProcess, metadataOf, pickle3, tgzOf, threadedTsv } from './made/epmt-archive.ts';
import { tacho } from './tacho.ts';

/** Real jobs that EPMT recorded, beside the checkout, with the results that EPMT's own tests expect. */
const DATA = path.join(import.meta.dirname, '../../shared/data/epmt');
const skip = fs.existsSync(DATA) ? false : 'the recorded jobs of EPMT are not here';
const KERNEL_BUILDS = ['190245', '191138', '194024'].map((time) => `kern-6656-20190614-${time}`);
const SLOW_BUILD = 'kern-6656-20190614-192044-outlier';

let folder: string;
let result: ReturnType<typeof tacho>;

before(() => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-epmt-'));
  if (skip !== false) return;
  const archives = fs.readdirSync(DATA).filter((name) => name.endsWith('.tgz'));
  const inputs = archives.map((name) => path.join(DATA, name));
  result = tacho(['import', 'epmt', ...inputs, '-o', folder, '--format', 'json'], {
    env: { ...process.env, TZ: 'UTC', EPMT_TZ: '' },
  });
});
after(() => fs.rmSync(folder, { recursive: true, force: true }));

const recording = (job: string): Recording => openRecording(path.join(folder, `tacho-${job}`));
const processes = (job: string): Batch => readTable(recording(job).nodes[0]!, 'process_end');
const threads = (job: string): Batch => readTable(recording(job).nodes[0]!, 'thread_end');
const sum = (batch: Batch, ...columns: string[]): number =>
  columns.reduce((total, column) => total + batch.numbers.get(column)!.reduce((a, b) => a + b, 0), 0);
const texts = (batch: Batch, column: string): string[] => {
  const { codes, values } = batch.texts.get(column)!;
  return Array.from(codes, (code) => values[code]!);
};
const cpuTime = (job: string): number => sum(processes(job), 'usertime', 'systemtime');
const duration = (job: string): number => recording(job).job.end! - recording(job).job.start;
const starts = (batch: Batch): number[] => texts(batch, 'start').map(Number);

test('all but the corrupted one are imported, which is named with its line and leaves nothing', { skip }, () => {
  assert.equal(result.code, 1);
  const { imported, refused } = JSON.parse(result.out);
  assert.deepEqual(
    imported.map(({ job, processes: p, threads: t }: { job: string; processes: number; threads: number }) => [
      job,
      p,
      t,
    ]),
    [
      ['685000', 3480, 3668],
      ['685003', 3785, 4030],
      ['2220', 2, 2],
      [KERNEL_BUILDS[0], 10600, 10600],
      [KERNEL_BUILDS[1], 10600, 10600],
      [SLOW_BUILD, 10600, 10600],
      [KERNEL_BUILDS[2], 10600, 10600],
    ],
  );
  assert.equal(refused.length, 1);
  assert.match(refused[0].error, /corrupted-csv\.tgz .*perftools\.org-papiex-6477-0\.csv, line 2: find \(pid 6477\)/);
  assert.match(result.err, /line 2: find/);
  assert.equal(fs.readdirSync(folder).length, 7);
});

test('a recording is smaller than its archive', { skip }, () => {
  for (const [job, archive] of [
    ['685000', '685000.tgz'],
    ['685003', '685003.tgz'],
    [KERNEL_BUILDS[0]!, `${KERNEL_BUILDS[0]}.tgz`],
  ] as const) {
    const files = fs.globSync(path.join(folder, `tacho-${job}`, '**/*')).map((file) => fs.statSync(file));
    const bytes = files.reduce((total, file) => total + (file.isFile() ? file.size : 0), 0);
    assert.ok(bytes < fs.statSync(path.join(DATA, archive)).size, `${job}: ${bytes} bytes`);
  }
});

test('685000: the job', { skip }, () => {
  const { job, nodes } = recording('685000');
  assert.deepEqual([job.id, job.scheduler, job.state, job.exit_code], ['685000', 'slurm', 'completed', 0]);
  assert.deepEqual(
    nodes.map((node) => node.name),
    ['pp208'],
  );
  assert.equal(duration('685000'), 6460243317);
  // 07:52:04.073965 and 09:39:44.317282 in US/Eastern, in summer
  assert.equal(job.start, Date.UTC(2019, 5, 15, 11, 52, 4) * 1000 + 73_965);
  assert.equal(job.end, Date.UTC(2019, 5, 15, 13, 39, 44) * 1000 + 317_282);
  assert.equal(job.tags.exp_component, 'ocean_annual_rho2_1x1deg');
  assert.equal(job.environment.SLURM_JOB_PARTITION, 'batch');
  assert.equal(job.environment.USER, undefined);
  // nothing was sampled: there is no interval to speak of
  assert.match(tacho(['status', path.join(folder, 'tacho-685000')]).out, /, job 685000\n/);
});

test('685000: its processes and threads', { skip }, () => {
  const ends = processes('685000');
  assert.equal(new Set(texts(ends, 'tags').filter((tags) => tags !== '')).size, 89);
  assert.equal(cpuTime('685000'), 113135329);
  assert.equal(sum(ends, 'usertime'), 71155254);
  assert.equal(sum(ends, 'systemtime'), 41980075);
  assert.equal(sum(ends, 'rchar'), 15458131996);
  assert.equal(sum(ends, 'wchar'), 15066048420);
  const start = starts(ends);
  assert.equal(
    ends.time.reduce((total, end, i) => total + end - start[i]!, 0),
    24717624686,
  );
  assert.equal(sum(threads('685000'), 'usertime', 'systemtime'), 113135329);
  // four were disturbed: their counter would be negative
  assert.equal(ends.numbers.get('rdtsc_duration')!.filter(Number.isNaN).length, 4);
  // the memory of each process is a multiple of a page, and none of it is called starttime
  assert.ok(ends.numbers.get('vsize')!.every((bytes) => bytes > 0 && bytes % 4096 === 0));
  assert.equal(ends.numbers.has('starttime'), false);
});

test('685000: an operation, and who ran at 07:53', { skip }, () => {
  const ends = processes('685000');
  const tags = texts(ends, 'tags');
  const of = tags.flatMap((text, i) => (text.split(';').includes('op:timavg') ? [i] : []));
  const total = (column: string): number => of.reduce((a, i) => a + ends.numbers.get(column)![i]!, 0);
  assert.equal(of.length, 57);
  assert.equal(total('numtids'), 62);
  assert.equal(total('usertime') + total('systemtime'), 17951212);
  const start = starts(ends);
  const durations = of.map((i) => ends.time[i]! - start[i]!);
  assert.equal(
    durations.reduce((a, b) => a + b, 0),
    41388496,
  );
  assert.equal(Math.max(...of.map((i) => ends.time[i]!)) - Math.min(...of.map((i) => start[i]!)), 51278054);
  const moment = Date.UTC(2019, 5, 15, 11, 53) * 1000;
  const running = texts(ends, 'pid').filter((_, i) => start[i]! <= moment && ends.time[i]! >= moment);
  assert.deepEqual(running, ['6098', '6226']);
});

test('685003, and the TSV archive', { skip }, () => {
  assert.equal(cpuTime('685003'), 93538033);
  assert.equal(sum(threads('2220'), 'rssmax'), 9952);
  assert.deepEqual(texts(processes('2220'), 'args'), ['1', '-al']);
  // its times have a zone of their own: India
  assert.equal(recording('2220').job.start, Date.UTC(2020, 5, 8, 5, 3, 54) * 1000 + 355_139);
});

test('the kernel builds: three alike and a slow one', { skip }, () => {
  const middle = (values: number[]): number => values.sort((a, b) => a - b)[1]!;
  const spread = (values: number[]): number => {
    const median = middle([...values]);
    return middle(values.map((value) => Math.abs(value - median)));
  };
  const cpu = KERNEL_BUILDS.map(cpuTime);
  assert.deepEqual([middle([...cpu]), spread(cpu)], [449914707, 444671]);
  const long = KERNEL_BUILDS.map(duration);
  assert.deepEqual([middle([...long]), spread(long)], [542680315, 14860060]);
  assert.deepEqual([cpuTime(SLOW_BUILD), duration(SLOW_BUILD)], [627670563, 1173629067]);
  for (const job of KERNEL_BUILDS) {
    const tags = texts(processes(job), 'tags').map((text) => text.split(';'));
    const count = (tag: string): number => tags.filter((all) => all.includes(tag)).length;
    assert.deepEqual([count('op:build'), count('op:configure')], [9549, 1044]);
  }
});

test('the kernel builds: what one make started hangs below it, as EPMT’s operations have it', { skip }, () => {
  for (const job of [...KERNEL_BUILDS, SLOW_BUILD]) {
    const { parent, ppid, descendants } = recordedProcesses(
      recording(job),
      () => [],
      () => {},
    )!;
    const roots = [...parent].flatMap((above, i) => (above < 0 ? i : []));
    // the script that EPMT did not record started all of them
    assert.equal(new Set(roots.map((i) => ppid[i])).size, 1);
    const sizes = roots.map((i) => 1 + descendants[i]!).sort((a, b) => b - a);
    assert.deepEqual(sizes, [9549, 1044, 2, 1, 1, 1, 1, 1]);
  }
});

test('the same job from a folder, collated or one file a process; a second time nothing is overwritten', {
  skip,
}, () => {
  const again = tacho(['import', 'epmt', path.join(DATA, '685000.tgz'), '-o', folder]);
  assert.equal(again.code, 1);
  assert.match(again.err, /job 685000 is there already/);
  const unpacked = fs.mkdtempSync(path.join(folder, 'unpacked-'));
  execFileSync('tar', ['-xzf', path.join(DATA, '685000.tgz'), '-C', unpacked, '--no-same-owner']);
  const [collated] = fs.readdirSync(unpacked).filter((name) => name.endsWith('.csv'));
  const [header, ...lines] = fs.readFileSync(path.join(unpacked, collated!), 'utf8').trimEnd().split('\n');
  const one = tacho(['import', 'epmt', unpacked, '-o', path.join(folder, 'whole')]);
  assert.match(one.out, /it was UTC-04:00/);
  assert.equal(one.out.split('\n')[0], `${folder}/whole/tacho-685000: 3,480 processes, 3,668 threads, pp208`);
  fs.rmSync(path.join(unpacked, collated!));
  let file = 0;
  let text = '';
  for (const line of [...lines, 'end']) {
    if (text !== '' && !line.startsWith(',,,')) {
      fs.writeFileSync(path.join(unpacked, `pp208-papiex-${++file}-0.csv`), `${header}\n${text}`);
      text = '';
    }
    text += `${line}\n`;
  }
  const many = tacho(['import', 'epmt', unpacked, '-o', path.join(folder, 'many')]);
  assert.equal(many.out.split('\n')[0], `${folder}/many/tacho-685000: 3,480 processes, 3,668 threads, pp208`);
  const [a, b] = ['whole', 'many'].map((name) => openRecording(path.join(folder, name, 'tacho-685000')).nodes[0]!);
  assert.deepEqual(readTable(b!, 'process_end').numbers, readTable(a!, 'process_end').numbers);
  assert.deepEqual(texts(readTable(b!, 'process_end'), 'args'), texts(readTable(a!, 'process_end'), 'args'));
});

test('hosts are told in short, and numbers as everywhere', () => {
  const file = path.join(folder, 'hosts.tgz');
  const hosts = Array.from({ length: 40 }, (_, i) => `node${String(i + 1).padStart(3, '0')}`);
  const entries = hosts.map((hostname) => ({
    name: `./${hostname}-collated-papiex-1-0.csv`,
    bytes: csvText(
      Array.from({ length: 26 }, (_, i) => ({ ...madeProcess(100 + i), hostname })),
      CSV_COLUMNS[48],
    ),
  }));
  fs.writeFileSync(file, tgzOf([{ name: './job_metadata', bytes: pickle3(metadataOf()) }, ...entries]));
  const { out } = tacho(['import', 'epmt', file, '-o', path.join(folder, 'hosts')]);
  assert.match(out, /tacho-4711: 1,040 processes, [0-9,]+ threads, node\[001-040\]\n/);
});

test('threads that TSV does not name are called by their place in their process', () => {
  const file = path.join(folder, 'threads.tgz');
  fs.writeFileSync(file, threadedTsv());
  const jobs = path.join(folder, 'threads');
  assert.equal(tacho(['import', 'epmt', file, '-o', jobs]).code, 0);
  const ask = (...more: string[]): string => tacho([...more, path.join(jobs, 'tacho-4711')]).out;
  const threadsOf = (format: string): string => ask('threads', '--process', '200', '--format', format);
  assert.match(threadsOf('text'), /\n200 .*\n +#2 .*\n +#3 /);
  assert.deepEqual(
    (JSON.parse(threadsOf('json')) as { tid: unknown }[]).map(({ tid }) => tid),
    [200, '#2', '#3'],
  );
  const [heads, ...rows] = threadsOf('csv')
    .trim()
    .split('\n')
    .map((line) => line.split(','));
  assert.deepEqual(
    rows.map((row) => row[heads!.indexOf('tid')]),
    ['200', '#2', '#3'],
  );
  assert.match(ask('outliers', '--of', 'threads'), /\nsh +200 +#3 /);
  assert.match(ask('outliers', '--of', 'threads', '--votes'), /thread #3/);
  assert.match(ask('outliers', '--of', 'threads', '--format', 'json'), /"tid": "#3"/);
  assert.match(ask('outliers', '--of', 'threads', '--format', 'csv'), /,200,#3,/);
});
