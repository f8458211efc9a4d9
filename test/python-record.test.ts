import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { VERSION } from '../src/base/version.ts';
import { openRecording } from '../src/recording/folder/open.ts';
import { pairPhases, recordedMarkers } from '../src/recording/read/markers.ts';
import { tacho, temporaryFolder } from './tacho.ts';

const PACKAGE = path.join(import.meta.dirname, '../python');
const SCRIPT = path.join(import.meta.dirname, 'python/record.py');
const has = (program: string, ...args: string[]): boolean => spawnSync(program, args).status === 0;
const PYTHON = ['/usr/bin/python3', 'python3'].find((name) => has(name, '-c', 'import pandas'));
const noPandas = PYTHON === undefined ? 'python3-pandas is not installed' : false;

function environment(): NodeJS.ProcessEnv {
  const env: NodeJS.ProcessEnv = { ...process.env, PYTHONPATH: PACKAGE, PYTHONDONTWRITEBYTECODE: '1' };
  for (const name of ['TACHO', 'TACHO_RECORDING', 'TACHO_MARKS']) delete env[name];
  return env;
}

test('a Python program marks its phases in the recording around it', { skip: noPandas }, (t) => {
  const cwd = temporaryFolder(t);
  const run = ['run', '--no-report', '-o', 'r', '--', PYTHON!, '-W', 'error', SCRIPT, 'joins'];
  const done = tacho(run, { cwd, env: environment() });
  assert.equal(done.code, 0, done.err);
  const recording = path.join(cwd, 'r');
  assert.deepEqual(JSON.parse(done.out), [true, true, recording]);
  const markers = recordedMarkers(openRecording(recording));
  const phases = pairPhases(markers);
  assert.deepEqual(
    phases.map(({ begin }) => begin.name),
    ['whole', 'load', 'say "a, b" c', 'outer', 'inner', 'in a child'],
  );
  assert.ok(phases.every(({ begin, end }) => end !== undefined && end.time >= begin.time && end.pid === begin.pid));
  assert.notEqual(phases.at(-1)!.begin.pid, phases[0]!.begin.pid);
  const figures = markers.filter(({ action }) => action === 'fom');
  assert.equal(figures.length, 401);
  assert.equal(figures.find(({ name }) => name === 'digits')!.value, '0.30000000000000004');
});

test('elsewhere it starts a recording of its own, which ends with the block', { skip: noPandas }, (t) => {
  const cwd = temporaryFolder(t);
  const done = spawnSync(PYTHON!, ['-W', 'error', SCRIPT, 'mine'], {
    cwd,
    encoding: 'utf8',
    env: { ...environment(), TACHO_RECORDINGS: cwd },
  });
  assert.equal(done.status, 0, done.stderr);
  const reply = JSON.parse(done.stdout) as Record<string, unknown> & { nowhere: string[] };
  assert.match(reply.nowhere.join(), /^nothing is being recorded here: marks are not kept/);
  assert.equal(reply.nowhere.length, 1);
  assert.equal(reply.live, 'running');
  assert.deepEqual(reply.job, ['alone', 'failed', 1, { op: 'x' }]);
  assert.deepEqual(reply.phases, ['main']);
  assert.deepEqual(reply.figures, [['of a child', 7]]);
  assert.equal(reply.rows, true);
  assert.match(String(reply.strict), /\/proc\/none/);
  assert.equal(reply['goes on'], 'nothing is recorded: ');
  assert.equal(reply.left, null);
  assert.deepEqual(reply.refused, [
    'the figure "x" is str, not a number',
    'the figure "x" is nan, which is not a number that can be kept',
    'the figure "x" has more digits than can be kept: 9007199254740993',
    'the figure "x" has no value',
  ]);
});

test('a Python without pandas has reports and cards, and is told what frames need', (t) => {
  const folder = path.join(temporaryFolder(t), 'r');
  const program = `
import json, sys
sys.modules["pandas"] = sys.modules["polars"] = None
import tacho
with tacho.record("plain", folder=sys.argv[1], strict=True) as r:
    r.fom(loss=0.5)
said = []
for frame in ("pandas", "polars"):
    try: r.table("cpu", frame=frame)
    except ModuleNotFoundError as error: said.append(str(error))
print(json.dumps([r.report()["job"]["name"], r.card().split()[0], *said]))
`;
  const done = spawnSync('python3', ['-W', 'error', '-c', program, folder], { encoding: 'utf8', env: environment() });
  assert.equal(done.status, 0, done.stderr);
  assert.deepEqual(JSON.parse(done.stdout), [
    'plain',
    'plain',
    'frames of pandas need it: apt-get install python3-pandas, or pip install pandas',
    'frames of Polars need it: pip install polars',
  ]);
});

test('the Python package is typed', { skip: has('mypy', '--version') ? false : 'mypy is not installed' }, (t) => {
  const cache = temporaryFolder(t);
  const config = path.join(PACKAGE, 'pyproject.toml');
  const args = [
    '--config-file',
    config,
    '--cache-dir',
    cache,
    '--python-version',
    '3.9',
    path.join(PACKAGE, 'tacho'),
    path.join(PACKAGE, 'dask_metrics.py'),
  ];
  const done = spawnSync('mypy', args, { encoding: 'utf8' });
  assert.equal(done.status, 0, done.stdout);
});

test('files of a Dask monitor are read where Dask is not installed', (t) => {
  const folder = temporaryFolder(t);
  fs.writeFileSync(
    path.join(folder, 'worker_0.csv'),
    'job,dag,timestamp,compute-util\n1,0,0.1,"99, 7"\n1,0,0.3,"100, 8"\n',
  );
  const script = `
import sys
from tacho.dask import Monitor, custom_metric
print(Monitor.peaks_from_csv(sys.argv[1], "compute-util"), "distributed" in sys.modules)
`;
  // -S: without the packages of the system
  const done = spawnSync('/usr/bin/python3', ['-S', '-c', script, folder], {
    encoding: 'utf8',
    env: { PYTHONPATH: PACKAGE, PYTHONDONTWRITEBYTECODE: '1' },
  });
  assert.equal(done.stdout, '[{1: [100, 8]}] False\n', done.stderr);
});

const whyNoVenv =
  spawnSync('/usr/bin/python3', ['-c', 'import venv, ensurepip']).status !== 0 && 'python3-venv is not installed';

test('pip installs the Python package without a network and without other packages', { skip: whyNoVenv }, (t) => {
  const folder = temporaryFolder(t);
  const run = (program: string, ...args: string[]): string => {
    const env = { PATH: process.env.PATH, HOME: folder, PIP_NO_INDEX: '1', PIP_DISABLE_PIP_VERSION_CHECK: '1' };
    const done = spawnSync(program, args, { encoding: 'utf8', cwd: folder, env });
    assert.equal(done.status, 0, done.stdout + done.stderr);
    return done.stdout;
  };
  // what a build leaves must not be left in the checkout
  fs.cpSync(PACKAGE, path.join(folder, 'python'), {
    recursive: true,
    filter: (file) => !file.includes('__pycache__'),
  });
  run('/usr/bin/python3', '-m', 'venv', 'there');
  run('there/bin/pip', 'install', '--quiet', './python');
  const look = `import json, tacho
from importlib.metadata import files, requires, version
print(json.dumps([version("tacho"), len(requires("tacho")), sorted(map(str, files("tacho")))]))`;
  const [version, extras, files] = JSON.parse(run('there/bin/python', '-c', look)) as [string, number, string[]];
  assert.equal(version, VERSION);
  assert.equal(extras, 5);
  for (const file of ['tacho/py.typed', 'tacho/dask/on_cluster.py', 'dask_metrics.py'])
    assert.ok(files.includes(file), file);
  assert.ok(!files.some((file) => file.startsWith('build_backend')), 'what builds it is not installed');
});
