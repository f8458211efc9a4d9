import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { freePort } from '../src/base/free-port.ts';
import { VERSION } from '../src/base/version.ts';
import { writeDemo } from '../src/demo/demo.ts';
import { findJupyter } from '../src/show/jupyter.ts';
import { notebookText, type Subject, writeNotebook } from '../src/show/notebook.ts';
import { eventually } from './made/eventually.ts';
import { START, temporary } from './make-recording.ts';
import { sharedPostgres, whyNoPostgres } from './postgres/server.ts';
import { makeProcessRecording } from './process-recording.ts';
import { TACHO, tacho, temporaryFolder } from './tacho.ts';

const PACKAGE = path.join(import.meta.dirname, '../python');
/** Debian's Python has python3-pandas; another one first in the path may not. */
const has = (python: string, module: string): boolean => spawnSync(python, ['-c', `import ${module}`]).status === 0;
const PYTHON = ['/usr/bin/python3', 'python3'].find((name) => has(name, 'pandas'));
const noPandas = PYTHON === undefined ? 'python3-pandas is not installed' : false;
const noPlots = noPandas || (has(PYTHON!, 'matplotlib') ? false : 'python3-matplotlib is not installed');

function python(args: readonly string[], cwd: string) {
  const env: NodeJS.ProcessEnv = {
    ...process.env,
    PYTHONPATH: PACKAGE,
    PYTHONDONTWRITEBYTECODE: '1',
    MPLBACKEND: 'Agg',
    // as shells export it for their own terminal
    COLUMNS: '40',
  };
  delete env.TACHO;
  const done = spawnSync(PYTHON!, ['-W', 'error', ...args], {
    cwd,
    encoding: 'utf8',
    env: { MPLCONFIGDIR: cwd, ...env },
  });
  return { code: done.status, out: done.stdout, err: done.stderr };
}

function asked(script: string, ...args: string[]): Record<string, unknown> {
  const done = python([path.join(import.meta.dirname, 'python', script), ...args], temporary());
  assert.equal(done.code, 0, done.err);
  return JSON.parse(done.out) as Record<string, unknown>;
}

/** A job of two nodes; one program is called NA, which pandas would take for missing. */
function recorded(id: string, slow = 0): Promise<string> {
  return makeProcessRecording(
    {
      c1: [
        { pid: 100, end: 50 + slow, exename: 'bash', tags: 'op:all', cpu: 0.5 },
        {
          ...{ pid: 101, ppid: 100, start: 1, end: 4 + slow, exename: 'NA', args: 'a "b",\tc', tags: 'op:build' },
          ...{ cpu: 2, exitcode: 3, threads: [1.5, 0.5] },
        },
      ],
      c2: [{ pid: 100, exename: 'killed', tags: 'op:build' }],
    },
    { id, start: START - (id === '1' ? 1e6 : 0), end: START + (60 + slow) * 1e6 },
  );
}

const smallDemo = (): Promise<string> =>
  writeDemo({ folder: path.join(temporary(), 'demo'), nodes: 2, gpus: 2, seconds: 120 });

test('frames hold what the program says', { skip: noPandas }, async () => {
  const [first, second, demo] = [await recorded('1'), await recorded('2', 5), await smallDemo()];
  const given = asked('frames.py', first, second, demo);
  assert.equal(given.repr, `Recording('${first}')`);
  assert.deepEqual(given.jobs, ['1', '2']);
  assert.deepEqual(given.tables, [
    [['gpu'], 2],
    [[], 2],
  ]);
  assert.deepEqual(given.unit, ['float', 'watts', 'gauge']);
  assert.deepEqual(given.zone, ['UTC', 'UTC']);
  const args = ['export', demo, '--table', 'gpu', '--columns', 'power_watts', '--from', '2026-03-02T08:00:00.5Z'];
  const lines = tacho([...args, '--until', '2026-03-02T08:00:02.5Z'])
    .out.trim()
    .split('\n')
    .slice(1);
  const expected = lines.map((line) => line.split(',')).filter(([, node]) => node === 'node02');
  assert.equal(expected.length, 4);
  assert.deepEqual(
    given.part,
    expected.map(([time, node, job, gpu, watts]) => ({ time, node, job, gpu, power_watts: Number(watts) })),
  );
  assert.deepEqual(given.wide, [
    ['metric', 'node', 'gpu'],
    expected.filter(([, , , gpu]) => gpu === '1').map((row) => Number(row[4])),
  ]);
  assert.deepEqual(given.wide_times, ['2026-03-02T08:00:01+00:00', '2026-03-02T08:00:02+00:00']);
  assert.equal(given.coarse, 2 * 2);
  assert.deepEqual(given.rates, ['float64']);
  assert.deepEqual(given.ends, [
    ['1', '1', '2', '2'],
    ['100', '101', '100', '101'],
    ['bash', 'NA', 'bash', 'NA'],
  ]);
  assert.equal(given.report, '1');
  assert.deepEqual(given.reports, ['1', '2']);
  assert.match(given.card as string, /train/);
  const at = (seconds: number): string => new Date(START / 1000 + seconds * 1000).toISOString().replace('Z', '000Z');
  const common = { args: null, exitcode: 0 };
  assert.deepEqual(given.processes, [
    {
      ...{ pid: 101, exename: 'NA', args: 'a "b",\tc', start: at(1), end: at(4), cpu_time: 2e6, exitcode: 3 },
    },
    { ...common, pid: 100, exename: 'bash', start: at(0), end: at(50), cpu_time: 5e5 },
    { pid: 100, exename: 'killed', args: null, start: at(0), end: null, cpu_time: null, exitcode: null },
  ]);
  assert.deepEqual(given.busy, [101]);
  assert.deepEqual(given.threads, [
    { tid: 101, start: at(1), cpu_time: 1.5e6 },
    { tid: 102, start: at(1).replace('000000Z', '000001Z'), cpu_time: 5e5 },
  ]);
  assert.deepEqual(given.operations, [
    { operation: 'op:all', processes: 1, duration: 50e6 },
    { operation: 'op:build', processes: 2, duration: 3e6 },
  ]);
  const csv = tacho(['compare', first, second, '--by', 'operation', '--format', 'csv', '--limit', '0']).out;
  assert.deepEqual(
    given.compare,
    csv
      .trim()
      .split('\n')
      .slice(1)
      .map((line) => ({ operation: line.split(',')[0], difference: Number(line.split(',')[1]) })),
  );
  assert.deepEqual(given.metrics, ['microseconds', 61e6, 65e6]);
  assert.deepEqual(given.asked, [[START, START + 50e6]]);
  const [message, hint, exit] = given.no_table as [string, string, number];
  assert.deepEqual([message, exit], ['no table "proces_end" was recorded; did you mean "process_end"?', 2]);
  assert.match(hint, /^there are .*\bprocess_end\b/);
  assert.equal((given.no_folder as string[])[0], 'cannot open /nonexistent: no such file or folder');
  assert.deepEqual(given.several, ['these are 2 jobs, not one', 'reports() has one for each', 2]);
  assert.match((given.no_database as string[])[0]!, /postgres:\/\/ada@127\.0\.0\.1:1\/tacho: nobody answers there/);
});

test('an error of several lines, after warnings', { skip: noPandas }, () => {
  const output = ['tacho: left out:', '       a', 'tacho: one', 'two', '       do this', '       or that', ''].join(
    '\n',
  );
  const script = 'import sys; from tacho.program import _error; e = _error(sys.argv[1], 2); print([e.message, e.hint])';
  assert.equal(python(['-c', script, output], temporary()).out, "['one\\ntwo', 'do this\\nor that']\n");
  assert.equal(python(['-c', script, ''], temporary()).out, "['tacho ended with 2', '']\n");
});

test('the same frames come from a database', { skip: noPandas || whyNoPostgres() }, async () => {
  const server = await sharedPostgres();
  const db = server.fresh();
  const jobs = [await recorded('1'), await recorded('2', 5)];
  assert.equal(tacho(['db', 'migrate', '--db', db]).code, 0);
  assert.equal(tacho(['submit', ...jobs, '--db', db]).code, 0);
  const given = asked('database.py', db.replace('tacho@', 'tacho:s3cret@'), ...jobs);
  assert.deepEqual(given, {
    repr: `Database('${db}')`,
    schema: 2,
    jobs: ['1', '2'],
    began: new Date(START / 1000 - 1000).toISOString().replace('.000Z', '+00:00'),
    numbered: ['2'],
    processes: true,
    threads: true,
    operations: true,
    compare: true,
    tables: ['name', 'facts', 'since'],
    hosts: [
      ['c1', 4],
      ['c2', 4],
    ],
    nodes: [
      ['c1', 'c2'],
      ['c1', 'c2'],
    ],
    times: 'datetime64[ns, UTC]',
    thread_sum: 2.5e6,
    of_both: 6,
    args: ['a "b",\tc'],
    models: 0,
    no_table: 'the database has no table "process_end"',
    no_job: `there is no job 77 in the database ${db}`,
  });
  const folder = temporary();
  const cells = codeOf({ database: db, jobs: ['1'] }, folder);
  const done = python(['-c', `${cells}\nprint(job, len(processes), len(operations))`], folder);
  if (!noPlots) assert.equal(done.code, 0, done.err);
  if (!noPlots) assert.equal(done.out.trimEnd().split('\n').at(-1), "Jobs('1') 3 2");
});

interface Notebook {
  nbformat: number;
  cells: { cell_type: string; source: string[] }[];
}

/** The code cells of the notebook about something, as one script. */
function codeOf(subject: Subject, folder: string): string {
  const { cells } = JSON.parse(notebookText(subject, folder)) as Notebook;
  const code = cells.filter(({ cell_type }) => cell_type === 'code').map(({ source }) => source.join(''));
  assert.ok(code.length >= 5 && code.every((text) => text !== ''));
  return code.join('\n');
}

test("the notebook's cells run, one after the other", { skip: noPlots }, async () => {
  const demo = await smallDemo();
  const folder = path.dirname(demo);
  const script = codeOf({ recordings: [demo] }, folder);
  assert.match(script, /tacho\.open\("demo"\)/);
  const pythonScript = `${script}
import json
import matplotlib.pyplot as plot
lines = [[(line.get_label(), len(line.get_ydata())) for line in figure.axes[0].lines] for figure in map(plot.figure, plot.get_fignums())]
print(json.dumps([len(shown), list(operations["operation"].dropna()), lines]))`;
  const done = python(['-c', pythonScript], folder);
  assert.equal(done.code, 0, done.err);
  assert.match(done.out, /train-mixture-70b/);
  const [processes, operations, lines] = JSON.parse(done.out.trimEnd().split('\n').at(-1)!);
  assert.equal(processes, JSON.parse(tacho(['processes', demo, '--limit', '20', '--format', 'json']).out).length);
  assert.deepEqual(operations.toSorted(), ['op:checkpoint', 'op:evaluate', 'op:input', 'op:stage', 'op:train']);
  assert.deepEqual(lines.flat().slice(0, 2), [
    ['node01', 12],
    ['node02', 12],
  ]);
  assert.deepEqual(
    lines.flat().map(([label]: [string]) => label),
    ['node01', 'node02', 'node01 (48213)', 'node02 (48213)'],
  );
});

test('a recording without GPUs and samples has a notebook too', { skip: noPandas }, async () => {
  const [first, second] = [await recorded('1'), await recorded('2')];
  const elsewhere = temporary();
  const script = codeOf({ recordings: [first, second] }, elsewhere);
  assert.ok(script.includes(`tacho.open(["${first}", "${second}"])`));
  const done = python(['-c', `${script}\nprint(len(shown), len(operations))`], elsewhere);
  assert.equal(done.code, 0, done.err);
  assert.match(done.out, /no GPU was recorded\nno CPU was recorded\n6 4\n$/);
});

test('no notebook is overwritten', async (t) => {
  const folder = temporaryFolder(t);
  const file = path.join(folder, 'mine.ipynb');
  writeNotebook({ recordings: ['.'] }, file);
  const before = fs.readFileSync(file, 'utf8');
  assert.throws(() => writeNotebook({ recordings: ['other'] }, file), { message: /exists already/, exit: 1 });
  assert.equal(fs.readFileSync(file, 'utf8'), before);
  const stand = path.join(folder, 'jupyter-lab');
  fs.writeFileSync(stand, '#!/bin/sh\nprintf "%s\\n" "$@" "$PYTHONPATH"\n', { mode: 0o755 });
  const within = { cwd: folder, env: { ...process.env, PATH: `${folder}:${process.env.PATH}`, PYTHONPATH: '/mine' } };
  const demo = await recorded('1');
  for (const name of ['tacho.ipynb', 'tacho-2.ipynb']) {
    const done = tacho(['notebook', demo, '--no-browser', '--port', '8899', '--', '--debug', 'x y'], within);
    assert.equal(done.code, 0, done.err);
    const ours = path.join(path.dirname(TACHO), 'python');
    const args = [name, '--ip=127.0.0.1', '--port=8899', '--no-browser', '-y', '--debug', 'x y', `${ours}:/mine`];
    assert.deepEqual(done.out.trimEnd().split('\n'), args);
    assert.equal(done.err, `tacho: the notebook is ${name}\n`);
  }
  assert.equal(tacho(['notebook', 'mine.ipynb'], within).out.split('\n')[0], 'mine.ipynb');
  const open = tacho(['notebook', demo, '-o', 'open.ipynb', '--', '--ServerApp.ip=0.0.0.0'], within);
  assert.deepEqual([open.code, open.out], [2, '']);
  assert.match(open.err, /listens on this machine only/);
  assert.equal(fs.existsSync(path.join(folder, 'open.ipynb')), false);
});

test('without Jupyter it says what to install, and writes nothing', async (t) => {
  const folder = temporaryFolder(t);
  const node = path.join(import.meta.dirname, '../src/cli/main.ts');
  const done = spawnSync(process.execPath, [node, 'notebook', await recorded('1')], {
    cwd: folder,
    encoding: 'utf8',
    env: { PATH: folder },
  });
  assert.equal(done.status, 1);
  assert.match(done.stderr, /^tacho: Jupyter is not installed\n {7}apt-get install jupyter-notebook python3-pandas/m);
  assert.deepEqual(fs.readdirSync(folder), []);
});

function noJupyter(): string | false {
  try {
    findJupyter();
    return false;
  } catch {
    return 'jupyter-notebook is not installed';
  }
}

test('a real Jupyter opens it, behind its token, and ends when it is told to', { skip: noJupyter() }, async (t) => {
  const folder = temporaryFolder(t);
  const port = await freePort();
  const root = process.getuid!() === 0 ? ['--allow-root'] : [];
  const args = ['notebook', await recorded('1'), '--no-browser', '--port', String(port), '--', ...root];
  const child = spawn(TACHO, args, {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, HOME: folder },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve));
  t.after(() => child.kill('SIGKILL'));
  const address = await eventually(
    () => `the address of Jupyter in: ${output}`,
    () => {
      assert.equal(child.exitCode, null, output);
      return /http:\/\/(?:127\.0\.0\.1|localhost):\d+\/\S*token=\w+/.exec(output)?.[0];
    },
  );
  assert.equal(new URL(address).port, String(port));
  assert.equal((await fetch(address)).status, 200);
  assert.equal((await fetch(new URL('/api/contents', address))).status, 403);
  const token = new URL(address).searchParams.get('token');
  const listed = (await (await fetch(new URL(`/api/contents?token=${token}`, address))).json()) as {
    content: { name: string }[];
  };
  assert.ok(listed.content.some(({ name }) => name === 'tacho.ipynb'));
  child.kill('SIGINT');
  assert.equal(await ended, 0, output);
  await assert.rejects(fetch(address));
});

test('the Python package has the version of the program', () => {
  const project = fs.readFileSync(path.join(PACKAGE, 'pyproject.toml'), 'utf8');
  assert.equal(/^version = "(.*)"$/m.exec(project)?.[1], VERSION);
});
