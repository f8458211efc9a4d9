import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as http from 'node:http';
import type { AddressInfo } from 'node:net';
import * as path from 'node:path';
import { after, before, test } from 'node:test';
import { type DemoOptions, writeDemo } from '../../src/demo/demo.ts';
import { openStore } from '../../src/query/store/client.ts';
import { findJobs, type StoredJob } from '../../src/query/store/records.ts';
import { summarise } from '../../src/query/summarise.ts';
import { openRecording, type Recording } from '../../src/recording/folder/open.ts';
import type { Statistics } from '../../src/recording/sealed/statistics.ts';
import { temporary } from '../make-recording.ts';
import { tacho, temporaryFolder } from '../tacho.ts';
import { disturb } from './disturb.ts';
import { pushRecordings } from './push.ts';
import { startVictoria, type Victoria, whyNoVictoria } from './server.ts';
import { storedSummary } from './stored-summary.ts';

const skip = whyNoVictoria();
let victoria: Victoria;
let folder: string;
let recording: Recording;
let stored: StoredJob;

const ID = '48213';

/** A demo job as an agent writes it. */
const liveDemo = (workFolder: string, name: string, options: Partial<DemoOptions>): Promise<string> =>
  writeDemo({ folder: path.join(workFolder, name), nodes: 1, gpus: 1, live: true, records: false, ...options });

before(async () => {
  if (skip) return;
  const workFolder = temporary();
  folder = await liveDemo(workFolder, 'demo', { nodes: 2, gpus: 2, seconds: 900 });
  disturb(folder);
  const other = await liveDemo(workFolder, 'other', { seconds: 300 });
  const job = path.join(other, 'job.json');
  fs.writeFileSync(job, fs.readFileSync(job, 'utf8').replaceAll(ID, '48300'));
  victoria = await startVictoria(['-dedup.minScrapeInterval=1ms']);
  await pushRecordings(victoria.url, workFolder);
  // what was sent twice, because nobody could say that it had arrived, counts once
  fs.rmSync(path.join(workFolder, '.sinks'), { recursive: true, force: true });
  await pushRecordings(victoria.url, workFolder);
  recording = openRecording(folder);
  [stored] = (await findJobs(openStore(victoria.url), ID)) as [StoredJob];
});

after(() => victoria?.remove());

/** Moments of a store are whole milliseconds: what depends on them is that much less exact. */
const CLOSE = { exact: 1e-9, timed: 2e-4, area: 1e-3, rate: 4e-3, between: 0.01, held: 0.05 };

function close(
  value: number | undefined,
  wanted: number | undefined,
  share: number,
  scale: number,
  what: string,
): void {
  if (wanted === undefined || Number.isNaN(wanted)) {
    assert.ok(value === undefined || Number.isNaN(value), what);
    return;
  }
  const limit = share * Math.max(Math.abs(wanted), scale) + 1e-6;
  assert.ok(Math.abs(value! - wanted) <= limit, `${what}: ${value} instead of ${wanted}`);
}

function sameStatistics(
  stored: Statistics,
  wanted: Statistics,
  seconds: number,
  sparse: boolean,
  isPart: boolean,
  what: string,
): void {
  const spread = wanted.max - wanted.min;
  assert.equal(stored.count, wanted.count, `${what} count`);
  assert.equal(stored.missing, wanted.missing, `${what} missing`);
  // what lies between two samples depends on their moments, and is rounded to whole units in files
  const edge = isPart && (wanted.increase !== undefined || seconds < 10);
  const rounded = (value = 0): number => CLOSE.between + 1.5 / Math.abs(value || 1);
  for (const name of ['first', 'last', 'min', 'max'] as const)
    close(stored[name], wanted[name], edge ? rounded(wanted[name]) : CLOSE.exact, 0, `${what} ${name}`);
  // of a part, what was held is looked at on a grid
  const held = sparse && isPart ? CLOSE.held : CLOSE.timed;
  // a level's mean is that of its time
  const level = wanted.integral === undefined ? CLOSE.exact : CLOSE.timed;
  close(stored.mean, wanted.mean, sparse ? held : edge ? rounded(wanted.mean) : level, 0, `${what} mean`);
  // of a handful of rows, a quantile lies on one of them or between two
  for (const name of sparse && isPart ? [] : (['deviation', 'p05', 'p25', 'p50', 'p75', 'p95'] as const))
    close(
      stored[name],
      wanted[name],
      sparse ? CLOSE.held : edge ? rounded(wanted[name]) : CLOSE.exact,
      sparse ? spread : Math.abs(wanted.mean),
      `${what} ${name}`,
    );
  // irregular steps are taken for regular ones: that is little of what the highest value would make
  close(
    stored.integral,
    wanted.integral,
    sparse ? held : isPart ? CLOSE.between : CLOSE.area,
    sparse ? 0 : wanted.max * seconds,
    `${what} integral`,
  );
  close(stored.increase, wanted.increase, edge ? rounded(wanted.increase) : CLOSE.exact, 0, `${what} increase`);
  assert.equal(stored.rate === undefined, wanted.rate === undefined, `${what} rate`);
  if (stored.rate === undefined || wanted.rate === undefined) return;
  const most = wanted.rate.max;
  close(stored.rate.mean, wanted.rate.mean, edge ? rounded(wanted.increase) : CLOSE.timed, 0, `${what} rate.mean`);
  // a step that a part cuts is a shorter one in files
  if (sparse && isPart) return;
  const apart = edge ? rounded(wanted.increase) : CLOSE.rate;
  close(stored.rate.min, wanted.rate.min, apart, most, `${what} rate.min`);
  close(stored.rate.max, wanted.rate.max, apart, 0, `${what} rate.max`);
  // a store knows the cell
  if (!sparse && wanted.rate.max > 1e10)
    assert.ok(Math.abs(stored.rate.max_time - wanted.rate.max_time) < 1e6, `${what} rate.max_time`);
  if (sparse) return;
  for (const name of ['p05', 'p50', 'p95'] as const)
    close(stored.rate[name], wanted.rate[name], apart, most, `${what} rate.${name}`);
}

async function compareAll(options: { from?: number; to?: number }): Promise<number> {
  const [whole] = summarise([recording], options);
  const nodes = await storedSummary(stored, options);
  let columns = 0;
  for (const [n, wanted] of whole!.nodes.entries()) {
    for (const [name, table] of wanted.tables) {
      if (name === 'marker') continue;
      const stored = nodes[n]!.tables.get(name);
      const here = `${wanted.node.name} ${name}`;
      assert.ok(stored !== undefined, here);
      assert.equal(stored.rows, table.rows, `${here} rows`);
      assert.ok(Math.abs(stored.start - table.start) < 1000 && Math.abs(stored.end - table.end) < 1000, here);
      assert.deepEqual(
        stored.series.map(({ keys }) => keys),
        table.series.map(({ keys }) => keys),
      );
      for (const [s, series] of table.series.entries()) {
        assert.equal(stored.series[s]!.samples, series.samples, here);
        for (const [column, statistics] of Object.entries(series.columns)) {
          const what = `${here} ${JSON.stringify(series.keys)} ${column}`;
          sameStatistics(
            stored.series[s]!.columns[column]!,
            statistics,
            (series.end - series.start) / 1e6,
            name === 'process',
            options.to !== undefined,
            what,
          );
          columns++;
        }
      }
    }
  }
  return columns;
}

test('every figure of every series is the same as from the recording', { skip }, async () => {
  assert.ok((await compareAll({})) > 300);
});

test('and for a part of the job', { skip }, async () => {
  const { start } = recording.job;
  assert.ok((await compareAll({ from: start + 100.5e6, to: start + 300.5e6 })) > 200);
  assert.ok((await compareAll({ to: start + 60.5e6 })) > 200);
  // two ticks in it, and none
  assert.ok((await compareAll({ from: start + 200.2e6, to: start + 202.1e6 })) > 200);
  assert.ok((await compareAll({ from: start + 200.2e6, to: start + 200.9e6 })) > 200);
});

/** All numbers of an object by their path; texts as they are. */
function leaves(value: unknown, at = '', leafValues = new Map<string, unknown>()): Map<string, unknown> {
  if (typeof value === 'object' && value !== null)
    for (const [key, below] of Object.entries(value)) leaves(below, `${at}.${key}`, leafValues);
  else leafValues.set(at, value);
  return leafValues;
}

/** What cannot be the same: where it lies, and what comes from arguments and states of processes, which no store is given. */
const OTHERWISE =
  /^\.recording$|\.command$|^\.programs\.|^\.summary\.processes$|text$|reason$|rss_growth$|\.longest$|\.processes\.\d+\.(seconds|cpus_busy)$/;

/** A sample in the millisecond in which a phase begins or ends may be outside of it: one more or less. */
const PHASE = /^(\.\d+\.phases\.\d+|\.phases\.\d+)\.(cpu_utilization|gpu_utilization|power_watts)$/;

function sameNumbers(actual: unknown, wanted: unknown, share = CLOSE.rate): number {
  const there = leaves(actual);
  let compared = 0;
  const all = leaves(wanted);
  for (const [name, value] of all) {
    const phase = PHASE.exec(name)?.[1];
    if (OTHERWISE.test(name) || (all.get(`${phase}.seconds`) as number) < 30) continue;
    const other = there.get(name);
    if (typeof value === 'number' && typeof other === 'number') {
      close(other, value, phase === undefined ? share : 0.05, 1e-3, name);
      compared++;
    } else assert.deepEqual(other, value, name);
  }
  return compared;
}

const json = (args: string[]): unknown => {
  const done = tacho([...args, '--format', 'json']);
  assert.equal(done.code, 0, done.err);
  return JSON.parse(done.out);
};

test('report, also of a phase and with what each phase used', { skip }, () => {
  const from = ['--store', victoria.url, '--job', ID];
  for (const partFlags of [[], ['--phases'], ['--marker', 'epoch 3'], ['--step', '0']]) {
    // of a part of a minute, one sample more or less is a little more
    const share = partFlags.length > 1 ? 0.03 : CLOSE.rate;
    const compared = sameNumbers(
      json(['report', ...from, ...partFlags]),
      json(['report', folder, ...partFlags]),
      share,
    );
    assert.ok(compared > 100, `${partFlags}: ${compared}`);
  }
});

test('compare', { skip }, () => {
  const other = path.join(path.dirname(folder), 'other');
  const comparison = json(['compare', ID, '48300', '--store', victoria.url, '--by', 'metric']);
  const wanted = json(['compare', folder, other, '--by', 'metric']) as { jobs: { recording: string }[] };
  for (const [j, { recording: path }] of (comparison as typeof wanted).jobs.entries()) wanted.jobs[j]!.recording = path;
  assert.ok(sameNumbers(comparison, wanted) > 20);
});

test('list', { skip }, () => {
  const all = json(['list', '--store', victoria.url]) as Record<string, unknown>[];
  assert.deepEqual(
    all.map(({ job, user, nodes, job_state, state }) => ({ job, user, nodes, job_state, state })),
    [
      { job: ID, user: 'ada', nodes: 2, job_state: 'completed', state: 'ended' },
      { job: '48300', user: 'ada', nodes: 1, job_state: 'completed', state: 'ended' },
    ],
  );
  assert.equal(all[0]!.start, recording.job.start);
  assert.equal(all[0]!.end, recording.job.end);
  assert.deepEqual(json(['list', '--store', victoria.url, '--from', '2026-06-01']), []);
});

test('an id that was used again is two jobs, each with its own samples', { skip }, async (t) => {
  const own = await startVictoria(['-dedup.minScrapeInterval=1ms']);
  t.after(() => own.remove());
  const workFolder = temporaryFolder(t);
  const first = await liveDemo(workFolder, 'first', { seconds: 120 });
  await pushRecordings(own.url, workFolder);
  fs.rmSync(first, { recursive: true });
  const second = await liveDemo(workFolder, 'second', { seconds: 60 });
  moveBy(second, 130e6);
  fs.rmSync(path.join(workFolder, '.sinks'), { recursive: true, force: true });
  await pushRecordings(own.url, workFolder);
  const jobs = await findJobs(openStore(own.url), ID);
  const loads = await Promise.all(jobs.map(async (job) => (await storedSummary(job))[0]!.tables.get('loadavg')!.rows));
  assert.deepEqual(loads, [120, 60]);
  assert.equal(jobs[1]!.recording.job.start - jobs[0]!.recording.job.start, 130e6);
  assert.equal(jobs[1]!.recording.path, `${jobs[0]!.recording.path}.2`);
  const listed = tacho(['list', '--store', own.url, '--format', 'json']);
  assert.deepEqual(
    (JSON.parse(listed.out) as { path: string; start: number; end: number; state: string }[]).map((each) => [
      each.path.slice(each.path.indexOf('#')),
      each.start,
      each.end,
      each.state,
    ]),
    jobs.map(({ recording: { job } }, i) => [`#${ID}${i === 0 ? '' : '.2'}`, job.start, job.end, 'ended']),
  );
  const report = (...args: string[]) => tacho(['report', '--store', own.url, '--format', 'json', '--job', ...args]);
  const starts = (out: string) => [JSON.parse(out)].flat().map((each: { job: { start: number } }) => each.job.start);
  const [one, two] = jobs.map(({ recording: { job } }) => job.start) as [number, number];
  const both = report(ID);
  assert.match(
    both.err,
    new RegExp(`job ${ID} is there 2 times: ${ID}\\.1 \\(.*\\), ${ID}\\.2 \\(.*; name one of these`),
  );
  assert.deepEqual(starts(both.out), [one, two]);
  assert.deepEqual(starts(report(`${ID}.1`).out), [one]);
  const chosen = report(`${ID}.2`);
  assert.deepEqual([starts(chosen.out), chosen.err], [[two], '']);
  assert.deepEqual(starts(report(ID, '--from', `@${two / 1e6}`).out), [two]);
  const third = report(`${ID}.3`);
  assert.deepEqual([third.code, /knows job .*, but not as .*\.3/.test(third.err)], [2, true], third.err);
  const done = tacho(['import', 'victoria', own.url, '--job', ID, '-o', path.join(workFolder, 'imported')]);
  assert.equal(done.code, 0, done.err);
  assert.deepEqual(fs.readdirSync(path.join(workFolder, 'imported')).sort(), [`tacho-${ID}`, `tacho-${ID}.2`]);
});

test('an id that was used again is two jobs, also when nobody saw the first one end', { skip }, async (t) => {
  const own = await startVictoria(['-dedup.minScrapeInterval=1ms']);
  t.after(() => own.remove());
  const workFolder = temporaryFolder(t);
  const first = await liveDemo(workFolder, 'first', { seconds: 60 });
  for (const file of fs.globSync(['job.json', 'node=*/agent.json'], { cwd: first })) {
    const { end: _, ...record } = JSON.parse(fs.readFileSync(path.join(first, file), 'utf8'));
    fs.writeFileSync(path.join(first, file), JSON.stringify(record));
  }
  await pushRecordings(own.url, workFolder);
  fs.rmSync(first, { recursive: true });
  const second = await liveDemo(workFolder, 'second', { seconds: 30 });
  moveBy(second, 1000e6);
  fs.rmSync(path.join(workFolder, '.sinks'), { recursive: true, force: true });
  await pushRecordings(own.url, workFolder);
  const jobs = await findJobs(openStore(own.url), ID);
  assert.deepEqual(
    jobs.map(({ recording: { job } }) => job.end === undefined),
    [true, false],
  );
  const loads = await Promise.all(jobs.map(async (job) => (await storedSummary(job))[0]!.tables.get('loadavg')!.rows));
  assert.deepEqual(loads, [60, 30]);
});

test('of what the nodes of a job say of it, the earliest start and the latest end count', { skip }, async (t) => {
  const own = await startVictoria(['-dedup.minScrapeInterval=1ms']);
  t.after(() => own.remove());
  const workFolder = temporaryFolder(t);
  const whole = await liveDemo(workFolder, 'whole', { nodes: 2, gpus: 1, seconds: 60 });
  const { job } = openRecording(whole);
  const nodes = fs.readdirSync(whole).filter((name) => name.startsWith('node='));
  // each agent pushes the job as it knows it: the first asked the scheduler, which tells whole seconds
  const reported = [
    { ...job, end: job.end! - 540_000, reason: 'as the scheduler says' },
    { ...job, start: job.start - 20_000 },
  ];
  for (const [n, node] of nodes.entries()) {
    const spool = path.join(workFolder, `agent${n}`, 'job');
    fs.mkdirSync(spool, { recursive: true });
    fs.writeFileSync(path.join(spool, 'job.json'), JSON.stringify(reported[n]));
    fs.renameSync(path.join(whole, node), path.join(spool, node));
    await pushRecordings(own.url, path.dirname(spool));
  }
  fs.rmSync(whole, { recursive: true });
  const [storedJob] = (await findJobs(openStore(own.url), ID)) as [StoredJob];
  const { start, end, reason } = storedJob.recording.job;
  assert.deepEqual([start, end, reason], [job.start - 20_000, job.end, 'as the scheduler says']);
  const [listed] = JSON.parse(tacho(['list', '--store', own.url, '--format', 'json']).out) as Record<string, unknown>[];
  assert.deepEqual([listed!.start, listed!.end], [start, end]);
});

/** The same recording, later by some microseconds. */
function moveBy(folder: string, more: number): void {
  for (const file of fs.readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    const workFolder = path.join(folder, file);
    if (!/\.(csv|json)$/.test(file)) continue;
    const text = fs.readFileSync(workFolder, 'utf8');
    fs.writeFileSync(
      workFolder,
      text.replace(
        /(^|"(?:start|end|submit|first_sample|last_sample)": ?)(\d{16})(?=,|$)/gm,
        (_, before, time) => `${before}${Number(time) + more}`,
      ),
    );
  }
}

test('export', { skip }, (t) => {
  const workFolder = temporaryFolder(t);
  for (const more of [[], ['--interval', '10s'], ['--layout', 'wide', '--table', 'gpu']]) {
    const [here, there] = ['here', 'there'].map((name) => path.join(workFolder, `${name}${more.length}`)) as [
      string,
      string,
    ];
    const options = ['--epoch', ...more];
    assert.equal(tacho(['export', folder, '-o', here, ...options]).code, 0);
    const done = tacho(['export', '--job', ID, '--store', victoria.url, '-o', there, ...options]);
    assert.equal(done.code, 0, done.err);
    for (const name of fs.readdirSync(here)) {
      if (name.startsWith('process')) continue;
      const wanted = coarse(path.join(here, name));
      const coarseTimes = coarse(path.join(there, name));
      assert.equal(coarseTimes.length, wanted.length, name);
      for (const [i, line] of wanted.entries()) assert.equal(coarseTimes[i], line, `${name} ${more.join(' ')}`);
    }
  }
});

/** The cells of a file, with times in milliseconds. */
function coarse(file: string): string[] {
  return fs
    .readFileSync(file, 'utf8')
    .split('\n')
    .map((line) => line.replace(/^(\d{13})\d{3}(?=,)/, '$1'));
}

test('what cannot be answered is said, and what to do', { skip }, async (t) => {
  const outputOf = (...args: string[]): string => {
    const done = tacho(['report', ...args]);
    assert.notEqual(done.code, 0);
    assert.equal(done.out, '');
    return done.err;
  };
  assert.match(outputOf('--job', '48231', '--store', victoria.url), /knows no job 48231\n.*did you mean 48213\?/);
  assert.match(outputOf('--job', 'x', '--store', victoria.url), /older than the store keeps.*tacho list --store/);
  assert.match(outputOf('--store', victoria.url), /which job of the store\?/);
  assert.match(outputOf('--job', '1', '--store', 'http://127.0.0.1:1'), /cannot reach the store .*\n.*curl/);
  assert.match(outputOf('--job', '1', '--store', 'vm:8428'), /is not the address of a store/);
  const other = http.createServer((_, response) => response.end('<html>hello</html>'));
  other.listen(0, '127.0.0.1');
  t.after(() => other.close());
  await new Promise((resolve) => other.once('listening', resolve));
  const store = openStore(`http://127.0.0.1:${(other.address() as AddressInfo).port}`);
  await assert.rejects(findJobs(store, '1'), /does not answer like VictoriaMetrics/);
  await victoria.load('tacho_job_info{job="77",node="c1"} 1\n');
  assert.match(outputOf('--job', '77', '--store', victoria.url), /samples of job 77, but not its record/);
});

test('passwords are never printed', { skip }, () => {
  const done = tacho(['report', '--job', '1', '--store', 'http://ada:secret@127.0.0.1:1']);
  assert.match(done.err, /cannot reach the store http:\/\/ada@127.0.0.1:1/);
  assert.ok(!done.err.includes('secret'));
});
