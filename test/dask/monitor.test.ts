import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import * as path from 'node:path';
import { test } from 'node:test';
import { fakeGpu, hasCompiler } from '../fake-gpu/build.ts';
import { temporaryFolder } from '../tacho.ts';

const PACKAGE = path.join(import.meta.dirname, '../../python');
const has = (python: string): boolean => spawnSync(python, ['-c', 'import distributed']).status === 0;
// another version of distributed, as npm run test:dask has them
const PYTHON = [process.env.DASK_PYTHON ?? '/usr/bin/python3', 'python3'].find(has);
const hasModule = (name: string): boolean => spawnSync(PYTHON!, ['-c', `import ${name}`]).status === 0;
const skip =
  PYTHON === undefined ? 'python3-distributed is not installed' : hasCompiler() ? false : 'gcc is not installed';

/** `cards` is what the fake library says of three GPUs. */
function monitored(t: Parameters<typeof fakeGpu>[0], script: string): Record<string, Record<string, unknown>> {
  fakeGpu(t, 'nvml', 'cards 3\nset 0 use 90\nset 0 memory 1024\nset 1 use 100\nset 1 memory 512\nset 2 use 5\n');
  const folder = temporaryFolder(t);
  const done = spawnSync(PYTHON!, [path.join(import.meta.dirname, '../python', script), folder], {
    cwd: folder,
    encoding: 'utf8',
    env: {
      ...process.env,
      PYTHONPATH: PACKAGE,
      PYTHONDONTWRITEBYTECODE: '1',
      MPLBACKEND: 'Agg',
      MPLCONFIGDIR: folder,
      // as dask-cuda has it: of three GPUs this worker may use two, the second one first
      CUDA_VISIBLE_DEVICES: '1,0',
    },
  });
  assert.equal(done.status, 0, done.stderr);
  return JSON.parse(done.stdout);
}

test('Monitor: jobs, graphs, tasks and GPUs of a cluster, with the names of dask-metrics', { skip }, (t) => {
  const reply = monitored(t, 'dask_monitor.py');
  assert.deepEqual(reply.wrong, [
    "TypeError: tracking is a list of names, not the text 'tasks'",
    "ValueError: there is no metric 'gpu'; there are tasks, total-mem, mem-util, compute-util, and custom metrics",
    "ValueError: job_type is one of client, manual, not 'auto'",
    'ValueError: polling_interval is a number above 0, not 0',
    'TypeError',
    "ValueError: two metrics are named 'running'",
    'FileNotFoundError',
  ]);
  const none = 'RuntimeError: no monitor is attached to this cluster: attach() comes first';
  assert.deepEqual(reply['in process'], {
    inside: 'TachoError: a cluster',
    nothing: none,
    twice: 'RuntimeError: a monitor runs on this cluster already: stop() ends it, detach() takes it away',
    stopped: [0, 1].map((worker) => `worker ${worker}: custom metric throws: ValueError: not now`),
    hung: false,
    'other files': ['FOLDER/csv has files of other workers: worker_10.csv; clear_dir=True removes them'],
    header: [
      'job',
      'dag',
      'timestamp',
      'tasks',
      'total-mem',
      'mem-util',
      'compute-util',
      'power',
      'running',
      'throws',
      'hangs',
    ],
    tasks: ["('x-1',0,('a',))", 'it\'s "quoted",\nand has lines', true],
    jobs: [
      [0, 0],
      [1, 0],
      [2, 0],
      [2, 1],
    ],
    first: ['536870912, 1073741824', '0.625, 1.25', '100, 90', '7.5, 7.5', '', ''],
    dumped: 2,
    peaks: [true, [[12], [12]], { 0: [100, 90], 1: [100, 90], 2: [100, 90] }],
    power: [[7.5, 7.5]],
    untracked:
      'KeyError: "\'loss\' was not tracked; there is: total-mem, mem-util, compute-util, power, running, throws, hangs"',
    'no worker': 'IndexError: there is no worker 8: there are 2, counted from 0',
    'new job': "RuntimeError: jobs are counted by clients: attach with job_type='manual' to number them yourself",
    detached: [none, 0],
  });
  assert.deepEqual(reply.manual, {
    recorded: [[1, 7], ...(hasModule('pandas') ? [['recorded'], ['running']] : [])],
    numbers: [1, 42, 43],
    jobs: ['0', '1', '42', '43'],
    rows: [true, true],
    'in memory': ['metrics stay in memory: cannot write to /a file/below: Not a directory'],
  });
  if (hasModule('matplotlib'))
    assert.deepEqual(reply.plots, {
      sizes: [
        [true, true],
        [true, true],
      ],
      'no job': 'ValueError: job 99',
      'no metric': "KeyError: \"'loss'",
      'no number': "'tasks' has values that are no numbers",
      none: 'ValueError: metrics is empty: name one at least',
    });
});
