import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { type TestContext, test } from 'node:test';
import * as fc from 'fast-check';
import {
  CSV_COLUMNS,
  csvText,
  JOB_START,
  type MadeProcess,
  madeProcess,
  metadataOf,
  PickledMoment,
  pickle0,
  pickle3,
  type TarEntry,
  tarOf,
  tgzOf,
  tsvTexts,
} from '../../../test/made/epmt-archive.ts';
import { temporaryFolder } from '../../../test/tacho.ts';
import { timeInZone, zoneNamed } from '../../base/zone.ts';
import { readProcesses } from '../../query/processes/processes.ts';
import { readAllThreads } from '../../query/processes/threads.ts';
import { type NodeRecording, openRecording } from '../../recording/folder/open.ts';
import { readTable } from '../../recording/read/read.ts';
import { Rows } from '../../recording/read/rows.ts';
import { verifyRecording } from '../../recording/repair/verify.ts';
import { readParquet } from '../../recording/sealed/parquet/read.ts';
import { type Imported, importEpmt } from './import.ts';
import { virtualSize } from './tables.ts';

const csv = (
  processes: readonly MadeProcess[],
  width: 41 | 46 | 48 = 48,
  name = 'c1-collated-papiex-4711-0.csv',
): TarEntry => ({
  name: `./${name}`,
  bytes: csvText(processes, CSV_COLUMNS[width]),
});
const metadata = (bytes: Buffer = pickle3(metadataOf())): TarEntry => ({ name: './job_metadata', bytes });

function archive(folder: string, entries: readonly TarEntry[], name = 'job.tgz'): string {
  const file = path.join(folder, name);
  fs.writeFileSync(file, tgzOf(entries));
  return file;
}

async function imported(
  t: TestContext,
  entries: readonly TarEntry[],
  env = {},
): Promise<Imported & { folder: string }> {
  const folder = temporaryFolder(t);
  const { imported: done, refused } = await importEpmt([archive(folder, entries)], {
    folder: path.join(folder, 'out'),
    env,
  });
  assert.deepEqual(
    refused.map(({ fault }) => fault.message),
    [],
  );
  return { ...done[0]!, folder: done[0]!.recording };
}

function table(node: NodeRecording, name: string): Record<string, number | string>[] {
  const batch = readTable(node, name);
  assert.deepEqual(batch.damage, []);
  return Array.from({ length: batch.rows }, (_, i) => {
    const row: Record<string, number | string> = { time: batch.time[i]! };
    for (const [column, { codes, values }] of batch.texts) row[column] = values[codes[i]!]!;
    for (const [column, values] of batch.numbers) row[column] = values[i]!;
    return row;
  });
}

const threaded: MadeProcess = madeProcess(50, {
  tags: 'op:build;seq:4',
  exename: 'solver',
  path: '/opt/solver',
  args: '-n 3, "a b"\n',
  exitcode: 2,
  threads: [50, 52, 51].map((tid, i) => ({
    tid,
    start: JOB_START + 50_000 + i,
    end: JOB_START + 55_000 - i * 100,
    metrics: {
      ...madeProcess(50).threads[0]!.metrics,
      usertime: 10 + i,
      systemtime: 1,
      rssmax: 100 * (i + 1),
      cutime: 70,
      rdtsc_duration: 1000 - i,
      num_threads: 0,
      starttime: 4096 * (i + 1) * 10_000,
    },
  })),
});

test('a process and its threads: sums, maxima, names', async (t) => {
  const { folder, processes, threads } = await imported(t, [metadata(), csv([threaded, madeProcess(9)])]);
  assert.deepEqual([processes, threads], [2, 4]);
  const [node] = openRecording(folder).nodes;
  assert.equal(node!.name, 'c1');
  const [first, second] = table(node!, 'process_end');
  assert.deepEqual([first!.pid, second!.pid], ['9', '50']);
  const { time, start, exename, args, tags, ended, exitcode, exitsignal, numtids, threads_counted } = second!;
  assert.deepEqual([time, start], [JOB_START + 55_000, String(JOB_START + 50_000)]);
  assert.deepEqual([exename, args, tags], ['solver', '-n 3, "a b"\n', 'op:build;seq:4']);
  assert.deepEqual([ended, exitcode, exitsignal, numtids, threads_counted], ['exit', 2, 0, 3, 0]);
  const { usertime, systemtime, rssmax, cutime, vsize, rdtsc_duration } = second!;
  assert.deepEqual([usertime, systemtime, rssmax, cutime, vsize, rdtsc_duration], [33, 3, 300, 70, 3 * 4096, 1000]);
  // what papiex mislabels, and what it does not know, is not there
  for (const column of ['num_threads', 'starttime', 'processor', 'delayacct_blkio_time', 'guest_time', 'uid']) {
    assert.equal(column in second!, false, column);
  }
  const rows = table(node!, 'thread_end').filter(({ pid }) => pid === '50');
  assert.deepEqual(
    rows.map(({ tid }) => tid),
    ['50', '51', '52'],
  );
  assert.deepEqual(
    rows.map(({ usertime }) => usertime),
    [10, 12, 11],
  );
  assert.deepEqual(
    rows.map(({ rssmax }) => rssmax),
    [100, 300, 200],
  );
  assert.deepEqual(
    rows.map(({ thread_start }) => thread_start),
    [0, 2, 1].map((n) => JOB_START + 50_000 + n),
  );
  assert.deepEqual(
    rows.map(({ time }) => time),
    [0, 2, 1].map((n) => JOB_START + 55_000 - n * 100),
  );
  assert.equal('cutime' in rows[0]!, false);
});

test('a thread that is all of its process is not written, and is read', async (t) => {
  const { folder } = await imported(t, [metadata(), csv([threaded, madeProcess(9), madeProcess(60)])]);
  const [node] = openRecording(folder).nodes;
  const file = path.join(folder, 'node=c1/thread_end.parquet');
  const written = new Rows();
  readParquet(file, written);
  assert.equal(written.length, 3);
  const rows = table(node!, 'thread_end');
  assert.deepEqual(
    rows.map(({ pid, tid }) => [pid, tid]),
    [
      ['9', '9'],
      ['50', '50'],
      ['50', '51'],
      ['50', '52'],
      ['60', '60'],
    ],
  );
  const [process] = table(node!, 'process_end');
  const { thread_start, ...thread } = rows[0]!;
  assert.equal(thread_start, Number(process!.start));
  for (const [name, value] of Object.entries(thread)) if (name !== 'tid') assert.equal(value, process![name], name);
  // some columns only, and a stretch of time
  const some = readTable(node!, 'thread_end', { columns: ['usertime'], from: process!.time as number });
  assert.deepEqual(
    [...some.numbers].map(([name, values]) => [name, ...values]),
    [['usertime', 9, 10, 12, 11, 60]],
  );
  // which processes had several threads nobody knows any more: none is made up
  fs.truncateSync(file, 100);
  const damaged = readTable(openRecording(folder).nodes[0]!, 'thread_end');
  assert.deepEqual([damaged.rows, damaged.damage.length], [0, 1]);
});

test('the same job as CSV of every version, collated or not, and as TSV', async (t) => {
  const made = [threaded, madeProcess(9), madeProcess(60, { exitsignal: 1 }), madeProcess(61, { exitsignal: 11 })];
  const variants: [name: string, entries: TarEntry[]][] = [41, 46, 48].map((width) => [
    `${width} columns`,
    [csv(made, width as 41 | 46 | 48)],
  ]);
  variants.push(['not collated', made.map((each) => csv([each], 48, `c1-papiex-${each.pid}-0.csv`))]);
  for (const converted of [false, true]) {
    const { header, data } = tsvTexts(made, converted);
    const files = [
      { name: './c1-papiex.tsv', bytes: data },
      { name: './c1-papiex-header.tsv', bytes: header },
    ];
    variants.push([converted ? 'converted' : 'TSV', files]);
  }
  for (const [name, entries] of variants) {
    const { folder, processes, threads } = await imported(t, [metadata(), ...entries]);
    assert.deepEqual([processes, threads], [4, 6], name);
    const [node] = openRecording(folder).nodes;
    const rows = table(node!, 'process_end');
    const pick = (column: string): unknown[] => rows.map((row) => row[column]);
    assert.deepEqual(pick('pid'), ['9', '50', '60', '61'], name);
    assert.deepEqual(pick('usertime'), [9, 33, 60, 61], name);
    const newline = name === 'TSV' ? '\\n' : '\n';
    assert.deepEqual(pick('args'), ['-c true', `-n 3, "a b"${newline}`, '-c true', '-c true'], name);
    if (name !== '41 columns') {
      assert.deepEqual(pick('ended'), ['exit', 'exit', 'signal', 'signal'], name);
      assert.deepEqual(pick('exitsignal'), [0, 0, Number.NaN, 11], name);
      assert.equal(rows[1]!.cutime, 70);
    }
    if (name !== 'converted')
      assert.deepEqual(
        pick('vsize'),
        [9, 3, 60, 61].map((pages) => pages * 4096),
        name,
      );
    const threadRows = table(node!, 'thread_end');
    assert.equal(threadRows.length, 6);
    const own = threadRows.filter(({ pid }) => pid === '50');
    assert.deepEqual(own.map((row) => row.usertime).sort(), [10, 11, 12], name);
    // TSV does not name the threads, nor say when they ran
    if (entries.length === 2) {
      assert.deepEqual(
        own.map(({ tid }) => tid),
        ['50', '#2', '#3'],
      );
      assert.deepEqual(
        own.map(({ thread_start }) => thread_start),
        [JOB_START + 50_000, Number.NaN, Number.NaN],
      );
      assert.deepEqual(
        own.map(({ time }) => time),
        [5, 5, 5].map((n) => JOB_START + 50_000 + n * 1000),
      );
    }
  }
});

test('what the description says of the job, written by Python 3 or 2', async (t) => {
  const environment = {
    SLURM_JOB_ID: '4711',
    SLURM_JOB_NAME: 'ocean',
    SLURM_JOB_UID: '1234',
    SLURM_JOB_NODELIST: 'c[1-2]',
    SLURM_JOB_NUM_NODES: '2',
    OMP_NUM_THREADS: '4',
    EPMT_JOB_TAGS: 'exp_name:linux; seqno:3;slow; url:http://x',
  };
  for (const pickle of [pickle3, pickle0]) {
    const moment = (hour: number): PickledMoment =>
      pickle === pickle3
        ? new PickledMoment(`2023-11-14T${hour}:13:20`, 250, 0)
        : new PickledMoment(`2023-11-14T${hour}:13:20`, 250);
    const described = metadataOf({ environment, start: moment(22), stop: moment(23), more: { job_el_exitcode: 0 } });
    const late = { ...threaded, start: threaded.start - 1000, hostname: 'c2' };
    const { folder, nodes } = await imported(t, [metadata(pickle(described)), csv([late, madeProcess(90)])], {
      EPMT_TZ: 'UTC',
    });
    assert.deepEqual(nodes.sort(), ['c1', 'c2']);
    const { job } = openRecording(folder);
    assert.deepEqual([job.id, job.name, job.user, job.uid, job.scheduler], ['4711', 'ocean', 'ada', 1234, 'slurm']);
    assert.deepEqual([job.start, job.end], [JOB_START + 250, JOB_START + 3600e6 + 250]);
    assert.equal(job.submit, undefined);
    // EPMT always says 0: the first process counts
    assert.deepEqual([job.state, job.exit_code], ['failed', 2]);
    assert.deepEqual(job.tags, { exp_name: 'linux', seqno: '3', slow: '1', url: 'http://x' });
    assert.deepEqual(job.asked, { nodes: 2 });
    assert.equal(job.environment.OMP_NUM_THREADS, '4');
    assert.equal(job.environment.SECRET, undefined);
  }
});

test('annotations, and tags that were annotated', async (t) => {
  const more = { annotations: { EPMT_JOB_TAGS: 'a:1', note: 'good', deep: { x: 1 } }, job_tags: { b: '2' } };
  const { folder } = await imported(t, [metadata(pickle3(metadataOf({ more }))), csv([madeProcess(9)])]);
  const job = JSON.parse(fs.readFileSync(path.join(folder, 'job.json'), 'utf8'));
  assert.deepEqual(job.tags, { a: '1' });
  assert.deepEqual(job.annotations, { EPMT_JOB_TAGS: 'a:1', note: 'good', deep: '{"x":1}' });
});

test('times without a zone: the processes say which it was', async (t) => {
  // 03:43:20 in India is 22:13:20 UTC
  const described = metadataOf({
    start: new PickledMoment('2023-11-15T03:43:20'),
    stop: new PickledMoment('2023-11-15T03:53:20'),
  });
  const { folder, notes } = await imported(t, [metadata(pickle0(described)), csv([madeProcess(9)])]);
  assert.equal(openRecording(folder).job.start, JOB_START);
  assert.match(notes.join(), /UTC\+05:30/);
  // without a process nobody knows better than EPMT
  const none = metadataOf({
    start: new PickledMoment('2023-11-14T17:13:20'),
    stop: new PickledMoment('2023-11-14T17:53:20'),
  });
  const empty = await imported(t, [metadata(pickle0(none)), csv([])]);
  assert.equal(openRecording(empty.folder).job.start, JOB_START);
  assert.match(empty.notes.join(), /US\/Eastern.*no process/);
  const kolkata = await imported(t, [metadata(pickle0(described)), csv([])], { EPMT_TZ: 'Asia/Kolkata' });
  assert.equal(openRecording(kolkata.folder).job.start, JOB_START);
  const own = metadataOf({
    start: new PickledMoment('2023-11-14T23:13:20'),
    stop: new PickledMoment('2023-11-14T23:53:20'),
    environment: { TZ: ':Europe/Berlin' },
  });
  const berlin = await imported(t, [metadata(pickle0(own)), csv([])], { EPMT_TZ: 'Asia/Kolkata' });
  assert.equal(openRecording(berlin.folder).job.start, JOB_START);
});

test('hours that come twice or never are taken in winter time', () => {
  const zone = zoneNamed('US/Eastern')!;
  const at = (month: number, day: number, hour: number, minute: number): string =>
    new Date(timeInZone(Date.UTC(2019, month, day, hour, minute) * 1000, zone) / 1000).toISOString();
  assert.equal(at(5, 15, 7, 52), '2019-06-15T11:52:00.000Z');
  assert.equal(at(0, 15, 7, 52), '2019-01-15T12:52:00.000Z');
  assert.equal(at(10, 3, 1, 30), '2019-11-03T06:30:00.000Z');
  assert.equal(at(2, 10, 2, 30), '2019-03-10T07:30:00.000Z');
  assert.equal(zoneNamed('Nowhere/Land'), undefined);
  // as POSIX has them: to the west, and without summer time
  const hours = (name: string) => (zoneNamed(name)?.offset(Date.UTC(2019, 6, 1) * 1000) ?? Number.NaN) / 3600e6;
  assert.deepEqual(['EST5', 'EST5EDT', 'IST-5:30', '<+03>-3', 'ABC+2', 'X5', 'EST99'].map(hours), [
    ...[-5, -4, 5.5, 3, -2],
    ...[Number.NaN, Number.NaN],
  ]);
});

test('a zone that nobody knows is told with the one that was taken', async (t) => {
  const described = metadataOf({
    start: new PickledMoment('2023-11-14T17:13:20'),
    stop: new PickledMoment('2023-11-14T17:53:20'),
    environment: { TZ: 'CET-1CEST,M3.5.0,M10.5.0/3' },
  });
  const { notes } = await imported(t, [metadata(pickle0(described)), csv([])]);
  assert.match(notes[0]!, /read as US\/Eastern, as TZ=CET-1CEST,M3\.5\.0,M10\.5\.0\/3 is no zone that is known$/);
});

test('the virtual memory that is called starttime', () => {
  assert.equal(virtualSize(1296261120000), 129_626_112);
  assert.equal(virtualSize(4096 * 3e9 * 10_000), 4096 * 3e9);
  assert.ok(Number.isNaN(virtualSize(1296261120001)));
  assert.ok(Number.isNaN(virtualSize(1234567 * 10_000)));
});

test('processes beside the job: CSV is refused with the line, TSV is told', async (t) => {
  const early = madeProcess(9, { start: JOB_START - 10e9, end: JOB_START });
  early.threads[0]!.start = early.start;
  const folder = temporaryFolder(t);
  const out = path.join(folder, 'out', 'deep');
  const { refused } = await importEpmt([archive(folder, [metadata(), csv([madeProcess(8), early])])], { folder: out });
  assert.match(
    refused[0]!.fault.message,
    /job\.tgz cannot be imported: c1-collated-papiex-4711-0\.csv, line 3: sh \(pid 9\) ran from/,
  );
  assert.equal(fs.existsSync(path.join(folder, 'out')), false, 'nothing is left behind');
  const { header, data } = tsvTexts([madeProcess(8), early]);
  const { processes, notes } = await imported(t, [
    metadata(),
    { name: 'c1-papiex.tsv', bytes: data },
    { name: 'c1-papiex-header.tsv', bytes: header },
  ]);
  assert.equal(processes, 2);
  assert.match(notes.join(), /1 process ran before the job began/);
});

test('a process a microsecond beyond its job is refused with times that show it', async (t) => {
  const late = madeProcess(9, { start: JOB_START + 5, end: JOB_START + 3_600_000_001 });
  const folder = temporaryFolder(t);
  const { refused } = await importEpmt([archive(folder, [metadata(), csv([late])])], { folder });
  assert.match(
    refused[0]!.fault.message,
    /ran from \S+ \S+:20\.000005 .* to \S+ \S+:20\.000001 .*, the job from \S+ \S+:20\.000000 .* to \S+ \S+:20\.000000 /,
  );
});

test('one that cannot be imported does not keep the others back, and leaves nothing', async (t) => {
  const folder = temporaryFolder(t);
  const out = path.join(folder, 'out');
  const described = (id: string): TarEntry => metadata(pickle3(metadataOf({ id })));
  const corrupted = csvText([madeProcess(7)], CSV_COLUMNS[41]).replace('-c true', '-c, true');
  const inputs = [
    archive(folder, [described('1'), csv([madeProcess(9)])], '1.tgz'),
    archive(folder, [described('2'), { name: 'c1-papiex-7-0.csv', bytes: corrupted }], '2.tgz'),
    archive(folder, [described('1'), csv([madeProcess(9)])], 'again.tgz'),
    archive(folder, [metadata(Buffer.from('cos\nsystem\n(tR.')), csv([madeProcess(9)])], 'evil.tgz'),
    archive(folder, [described('3'), { name: 'c1-papiex.tsv', bytes: '' }], 'headless.tgz'),
    archive(folder, [metadata(pickle3({ job_pl_id: '5' })), csv([])], 'unfinished.tgz'),
    archive(folder, [described('../../etc/4'), csv([madeProcess(9)])], '4.tgz'),
  ];
  const { imported: done, refused } = await importEpmt(inputs, { folder: out });
  assert.deepEqual(
    done.map(({ recording }) => recording),
    [path.join(out, 'tacho-1'), path.join(out, 'tacho-..-..-etc-4')],
  );
  assert.deepEqual(
    refused.map(({ fault }) => fault.message.replaceAll(`${folder}/`, '')),
    [
      '2.tgz cannot be imported: c1-papiex-7-0.csv, line 2: it has 42 columns, the header has 41',
      'again.tgz was not imported: job 1 is there already, as out/tacho-1',
      'evil.tgz cannot be imported: job_metadata: it asks for os.system, which is refused',
      'headless.tgz cannot be imported: c1-papiex.tsv has no header: c1-papiex-header.tsv is missing',
      'unfinished.tgz cannot be imported: job_metadata: it has no job_pl_env',
    ],
  );
  assert.deepEqual(fs.readdirSync(out).sort(), ['tacho-..-..-etc-4', 'tacho-1']);
});

test('of archives that cannot be read, each is refused for its own reason, and the next is imported', async (t) => {
  const folder = temporaryFolder(t);
  const whole = tgzOf([metadata(), csv([madeProcess(8)])]);
  const write = (name: string, bytes: Buffer): string => {
    fs.writeFileSync(path.join(folder, name), bytes);
    return path.join(folder, name);
  };
  const inputs = [
    write('cut.tgz', whole.subarray(0, whole.length - 10)),
    write('empty.tgz', Buffer.alloc(0)),
    path.join(folder, 'missing.tgz'),
    write('whole.tgz', whole),
  ];
  const { imported: done, refused } = await importEpmt(inputs, { folder: path.join(folder, 'out') });
  assert.deepEqual(
    refused.map(({ input, fault }) => [path.basename(input), /cut off|is empty|no such file/.exec(fault.message)?.[0]]),
    [
      ['cut.tgz', 'cut off'],
      ['empty.tgz', 'is empty'],
      ['missing.tgz', 'no such file'],
    ],
  );
  assert.deepEqual(
    done.map(({ input, processes }) => [path.basename(input), processes]),
    [['whole.tgz', 1]],
  );
});

test('another run of a job, another user and ids that make the same name are jobs of their own', async (t) => {
  const folder = temporaryFolder(t);
  const out = path.join(folder, 'out');
  const later = new PickledMoment('2023-11-14T22:13:20', 1, 0);
  const jobs = [
    metadataOf({ id: 'a/b' }),
    metadataOf({ id: 'a-b' }),
    metadataOf({ id: 'a/b', start: later }),
    metadataOf({ id: 'a/b', environment: { USER: 'eve' } }),
    metadataOf({ id: `${'9'.repeat(80)}1` }),
    metadataOf({ id: `${'9'.repeat(80)}2` }),
  ];
  const inputs = jobs.map((job, i) => archive(folder, [metadata(pickle3(job)), csv([madeProcess(9)])], `${i}.tgz`));
  const { imported: done } = await importEpmt(inputs, { folder: out });
  const long = `tacho-${'9'.repeat(80)}`;
  assert.deepEqual(
    done.map(({ recording }) => path.basename(recording)),
    ['tacho-a-b', 'tacho-a-b-2', 'tacho-a-b-3', 'tacho-a-b-4', long, `${long}-2`],
  );
  assert.equal(openRecording(path.join(out, 'tacho-a-b-3')).job.start, JOB_START + 1);
  const { imported: again, refused } = await importEpmt(inputs, { folder: out });
  assert.deepEqual(again, []);
  assert.deepEqual(
    refused.map(({ fault }) => /job \S+ is there already, as .*\/(\S+)$/.exec(fault.message)?.[1]),
    done.map(({ recording }) => path.basename(recording)),
  );
});

test('imports at the same time: ids that make the same name are both there, the same job once', async (t) => {
  const folder = temporaryFolder(t);
  const out = path.join(folder, 'out');
  const bring = (id: string, i: number) =>
    importEpmt([archive(folder, [metadata(pickle3(metadataOf({ id }))), csv([madeProcess(9)])], `${i}.tgz`)], {
      folder: out,
    });
  const broken = importEpmt([archive(folder, [metadata()], 'broken.tgz')], { folder: out });
  const results = await Promise.all([broken, ...['a/b', 'a-b', 'a b', 'a b'].map(bring)]);
  assert.deepEqual(fs.readdirSync(out).sort(), ['tacho-a-b', 'tacho-a-b-2', 'tacho-a-b-3']);
  const refused = results.flatMap((each) => each.refused.map(({ fault }) => fault.message));
  assert.match(refused[0]!, /holds no data of its processes/);
  assert.match(refused[1]!, /job a b is there already/);
  assert.equal(refused.length, 2);
});

test('numbers that no process can have are refused with the line', async (t) => {
  const folder = temporaryFolder(t);
  const out = path.join(folder, 'out');
  const wrong: [column: string, value: string][] = [
    ['usertime', '-5'],
    ['systemtime', '9'.repeat(17)],
    ['usertime', '9'.repeat(400)],
    ['pid', '9'.repeat(20)],
    ['pid', '-100'],
    ['pid', '0'],
    ['end', '-1'],
    ['start', '9'.repeat(20)],
    ['end', String(JOB_START + 1)],
    ['hostname', 'h'.repeat(5000)],
  ];
  const inputs = wrong.map(([column, value], i) => {
    const [head, first, second] = csvText([madeProcess(7), madeProcess(8)], CSV_COLUMNS[46]).split('\n');
    const cells = second!.split(',');
    cells[CSV_COLUMNS[46].indexOf(column)] = value;
    const bytes = [head, first, cells.join(',')].join('\n');
    return archive(folder, [metadata(), { name: 'c1-papiex-7-0.csv', bytes }], `${i}.tgz`);
  });
  const { refused } = await importEpmt(inputs, { folder: out });
  assert.deepEqual(
    refused.map(({ fault }) => /c1-papiex-7-0\.csv, line 3: (.*)/.exec(fault.message)?.[1]),
    [
      'usertime cannot be -5',
      'systemtime is too large',
      'usertime is too large',
      'pid is too large',
      'pid cannot be -100',
      'pid cannot be 0',
      'end cannot be -1',
      'start is too large',
      `end is before start (${JOB_START + 1}, ${madeProcess(8).start})`,
      'no host has a name of 5000 characters',
    ],
  );
  assert.equal(fs.existsSync(out), false);
});

test('a number that no thread can have is told with the line of the thread', async (t) => {
  const folder = temporaryFolder(t);
  const [one] = madeProcess(7).threads;
  const threads = [one!, { ...one!, tid: 8 }, { ...one!, tid: 9, metrics: { ...one!.metrics, systemtime: -3 } }];
  const { bytes } = csv([madeProcess(5), madeProcess(7, { threads })]);
  const file = archive(folder, [metadata(), { name: 'c1-papiex-5-0.csv', bytes: String(bytes).replace('\n', '\n\n') }]);
  const { refused } = await importEpmt([file], { folder: path.join(folder, 'out') });
  assert.match(refused[0]!.fault.message, /c1-papiex-5-0\.csv, line 6: systemtime cannot be -3/);
});

test('whatever is cut off or changed, an archive is imported or refused in one line, and leaves nothing', async (t) => {
  const folder = temporaryFolder(t);
  const out = path.join(folder, 'out');
  const entries = [metadata(), csv([madeProcess(7), madeProcess(8)])];
  const file = path.join(folder, 'changed.tgz');
  const check = async (bytes: Buffer): Promise<void> => {
    fs.writeFileSync(file, bytes);
    const { imported: done, refused } = await importEpmt([file], { folder: out });
    assert.equal(done.length + refused.length, 1);
    for (const { fault } of refused) {
      assert.match(fault.message, /^[^\n]{1,1000}$/);
      for (let cause: unknown = fault; cause instanceof Error; cause = cause.cause)
        assert.ok(!(cause instanceof TypeError || cause instanceof RangeError), String(cause.stack));
      assert.equal(fs.existsSync(out), false);
    }
    fs.rmSync(out, { recursive: true, force: true });
  };
  for (const whole of [tarOf(entries), tgzOf(entries)]) {
    await fc.assert(
      fc.asyncProperty(fc.nat(whole.length - 1), fc.nat(255), fc.boolean(), async (at, byte, cut) => {
        const changed = Buffer.from(whole);
        changed[at] = byte;
        await check(cut ? whole.subarray(0, at) : changed);
      }),
      { numRuns: 150 },
    );
  }
});

test('a last line without an end is told', async (t) => {
  const whole = csv([madeProcess(7), madeProcess(8)]);
  assert.deepEqual((await imported(t, [metadata(), whole])).notes, []);
  const cut = { ...whole, bytes: (whole.bytes as string).slice(0, -2) };
  const { notes, folder } = await imported(t, [metadata(), cut]);
  const note = 'c1-collated-papiex-4711-0.csv, line 3: it has no end, and may have been cut off';
  assert.deepEqual(notes, [note]);
  // also later
  const checks = verifyRecording(folder);
  assert.deepEqual(
    checks.map(({ file, what, outcome }) => [file, what, outcome]),
    [['node=c1/agent.json', `says: ${note}`, 'note']],
  );
});

test('an empty file and files of others beside those of papiex are left out, and told', async (t) => {
  const more = ['a', 'b', 'c', 'd', 'e'].map((name) => ({ name: `./${name}.csv`, bytes: '1,2\n' }));
  const empty = { name: './c1-papiex-9-0.csv', bytes: '' };
  const { notes, folder, processes } = await imported(t, [metadata(), csv([madeProcess(7)]), empty, ...more]);
  assert.equal(processes, 1);
  const emptyNote = 'c1-papiex-9-0.csv: empty, and left out';
  assert.deepEqual(notes, ['a.csv, b.csv, c.csv and 2 more: left out, papiex calls its files *-papiex*', emptyNote]);
  // what is lost is told later, too
  assert.deepEqual(
    verifyRecording(folder).map(({ what, outcome }) => [what, outcome]),
    [[`says: ${emptyNote}`, 'note']],
  );
});

test('a process that is there twice, collated and not, is taken once', async (t) => {
  const both = [csv([threaded, madeProcess(9)]), csv([threaded], 48, 'c1-papiex-50-0.csv')];
  const { processes, threads, notes } = await imported(t, [metadata(), ...both]);
  assert.deepEqual([processes, threads], [2, 4]);
  assert.match(notes.join(), /1 process was there twice/);
});

test('of two processes with the same pid and start the second begins a microsecond later, and is told', async (t) => {
  const shell = madeProcess(7);
  const became = madeProcess(7, { exename: 'sim', path: '/opt/sim' });
  const later = madeProcess(7, { start: shell.start + 1, exename: 'last' });
  const alone = ['sh', 'sim'].map((name, i) => csv([[shell, became][i]!], 48, `c1-papiex-7-${name}.csv`));
  const { processes, threads, notes, folder } = await imported(t, [
    metadata(),
    csv([shell, became, later, madeProcess(8)]),
    ...alone,
  ]);
  assert.deepEqual([processes, threads], [4, 4]);
  assert.deepEqual(notes, [
    '2 processes have pid and start in common with another: put a microsecond later',
    '2 processes were there twice, equal in everything; each was taken once',
  ]);
  const recording = openRecording(folder);
  const set = readProcesses([recording]);
  assert.deepEqual(
    Array.from(set.exename, (name, i) => [name, set.pid[i], set.start[i]! - shell.start]),
    [
      ['sh', 7, 0],
      ['sim', 7, 1],
      ['last', 7, 2],
      ['sh', 8, 1000],
    ],
  );
  assert.deepEqual([...readAllThreads(recording, set).process], [0, 1, 2, 3]);
});

test('a job without data, and a place where no folder can be made, are refused', async (t) => {
  const { imported: none, refused } = await importEpmt([archive(temporaryFolder(t), [metadata()])], {
    folder: temporaryFolder(t),
  });
  assert.deepEqual(none, []);
  assert.match(refused[0]!.fault.message, /it describes job \S+ and holds no data of its processes/);
  await assert.rejects(importEpmt([], { folder: '/proc/tacho/x' }), /cannot write \/proc\/tacho\/x/);
});
