import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { Lab, whyNot } from '../slurm/lab.ts';

const PYTHON = process.env.DASK_PYTHON ?? '/usr/bin/python3';
const UNUSED = /__pycache__|\/(pip|polars|_polars|pandas|numpy|mypy|matplotlib|pyarrow)[^/]*(\/|$)/;
const skip = spawnSync(PYTHON, ['-c', 'import dask_jobqueue']).status !== 0 ? 'needs dask-jobqueue' : whyNot();

test('a SLURMCluster of dask-jobqueue is monitored: each worker is in a job of its own', { skip }, async () => {
  const lab = new Lab();
  lab.up(2);
  const labFolder = await lab.workFolder('tacho-a', 'dask');
  fs.cpSync(path.join(import.meta.dirname, '../../python'), path.join(labFolder, 'python'), { recursive: true });
  fs.cpSync(path.join(import.meta.dirname, 'slurm.py'), path.join(labFolder, 'workflow.py'));
  // nodes see neither our home nor /tmp, but Debian's Python
  const where = 'import dask_jobqueue, os; print(os.path.dirname(os.path.dirname(dask_jobqueue.__file__)))';
  const site = spawnSync(PYTHON, ['-c', where], { encoding: 'utf8' }).stdout.trim();
  fs.cpSync(site, path.join(labFolder, 'site'), { recursive: true, filter: (file) => !UNUSED.test(file) });
  const command = `cd ${labFolder} && PYTHONPATH=${labFolder}/python:${labFolder}/site /usr/bin/python3 workflow.py ${labFolder}`;
  const { code, stdout, stderr } = await lab.on('login', 'tacho-a', 'sh', '-c', command);
  assert.equal(code, 0, stderr);
  const reply = JSON.parse(stdout) as { total: number; nodes: number[]; jobs: number[][] };
  assert.equal(reply.total, 28);
  assert.deepEqual(reply.nodes, [1, 2]);
  for (const jobs of reply.jobs) assert.ok(jobs.includes(1), `${jobs}`);
  lab.down();
});
