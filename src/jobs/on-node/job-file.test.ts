import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { type TestContext, test } from 'node:test';
import fc from 'fast-check';
import { END_KEYS, JOB_KEYS, jobName, parseEndFile, parseJobFile, readJobText, writeJobFile } from './job-file.ts';

const HOOKS = path.join(import.meta.dirname, '../../../packaging/slurm');

function folderOf(t: TestContext): string {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-jobs-'));
  t.after(() => fs.rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const PROLOG = {
  SLURM_JOB_ID: '4711',
  SLURM_JOB_USER: 'ada',
  SLURM_JOB_UID: '1001',
  SLURM_RESTART_COUNT: '1',
  SLURM_NODELIST: 'c[1-2]',
  SLURM_CLUSTER_NAME: 'blue',
  SLURM_ARRAY_JOB_ID: '4700',
  SLURM_ARRAY_TASK_ID: '3',
  SLURM_JOB_WORK_DIR: '/home/ada/été = 1',
};

test('the prolog script and `tacho job begin` write what the agent reads', (t) => {
  const folder = folderOf(t);
  const jobs = path.join(folder, 'run', 'jobs');
  const done = spawnSync('/bin/sh', [path.join(HOOKS, 'prolog.sh')], {
    env: { ...PROLOG, TACHO_SERVICE_JOBS: jobs },
    encoding: 'utf8',
  });
  assert.deepEqual([done.status, done.stdout, done.stderr], [0, '', '']);
  assert.deepEqual(fs.readdirSync(jobs), ['4711r1']);
  const written = writeJobFile(folder, PROLOG, JOB_KEYS);
  assert.equal(path.basename(written), '4711r1');
  for (const file of [path.join(jobs, '4711r1'), written]) {
    const { begin, environment, ...job } = parseJobFile(readJobText(file)!);
    assert.deepEqual(job, {
      id: '4711',
      restart: 1,
      scheduler: 'slurm',
      cluster: 'blue',
      user: 'ada',
      uid: 1001,
      directory: '/home/ada/été = 1',
      nodes: ['c1', 'c2'],
      tags: { array_job: '4700', array_task: '3' },
    });
    assert.ok(Math.abs(begin! - Date.now() * 1000) < 60e6);
    assert.equal(environment.SLURM_JOB_USER, 'ada');
  }
});

test('the epilog script says how the job ended', (t) => {
  const jobs = folderOf(t);
  const end = (env: Record<string, string>) => {
    spawnSync('/bin/sh', [path.join(HOOKS, 'epilog.sh')], {
      env: { SLURM_JOB_ID: '7', TACHO_SERVICE_JOBS: jobs, ...env },
    });
    const { end, ...rest } = parseEndFile(readJobText(path.join(jobs, '7.end'))!);
    assert.ok(end! > 1e15);
    return rest;
  };
  assert.deepEqual(end({ SLURM_JOB_EXIT_CODE: '768', SLURM_JOB_EXIT_CODE2: '3:0' }), { id: '7', exitCode: 3 });
  assert.deepEqual(end({ SLURM_JOB_EXIT_CODE: '15' }), { id: '7', exitCode: 0, signal: 15 });
  assert.deepEqual(end({}), { id: '7' });
  assert.deepEqual(parseEndFile(fs.readFileSync(writeJobFile(jobs, { SLURM_JOB_ID: '8' }, END_KEYS), 'utf8')).id, '8');
});

test('a hook never fails the job, whatever is wrong with the folder or its environment', (t) => {
  const folder = folderOf(t);
  fs.writeFileSync(path.join(folder, 'file'), '');
  for (const hook of ['prolog.sh', 'epilog.sh']) {
    for (const env of [
      {},
      { SLURM_JOB_ID: '../../etc/x' },
      { SLURM_JOB_ID: '1', TACHO_SERVICE_JOBS: path.join(folder, 'file', 'jobs') },
      { SLURM_JOB_ID: '1', TACHO_SERVICE_JOBS: '/proc/nowhere' },
      { SLURM_JOB_ID: '1', TACHO_SERVICE_JOBS: '/dev/full' },
    ]) {
      const done = spawnSync('/bin/sh', [path.join(HOOKS, hook)], { env, encoding: 'utf8' });
      assert.deepEqual([done.status, done.stdout, done.stderr], [0, '', ''], `${hook} ${JSON.stringify(env)}`);
    }
  }
  assert.deepEqual(fs.readdirSync(folder), ['file']);
});

test("a line break in a user's folder begins no line of its own", (t) => {
  const jobs = folderOf(t);
  const env = { ...PROLOG, SLURM_JOB_WORK_DIR: '/tmp/x\nSLURM_JOB_UID=0\nSLURM_CLUSTER_NAME=red' };
  spawnSync('/bin/sh', [path.join(HOOKS, 'prolog.sh')], { env: { ...env, TACHO_SERVICE_JOBS: jobs } });
  const job = parseJobFile(readJobText(path.join(jobs, '4711r1'))!);
  assert.deepEqual([job.uid, job.cluster, job.directory], [1001, 'blue', undefined]);
  assert.equal(parseJobFile('SLURM_JOB_ID=1\nSLURM_JOB_UID=7\nSLURM_JOB_UID=0\n').uid, 7, 'the first one counts');
});

test('what is no job file is refused with a reason, and a wrong detail is left out', () => {
  assert.throws(() => parseJobFile(''), /no line SLURM_JOB_ID/);
  assert.throws(() => parseJobFile('SLURM_JOB_ID=../x\n'), /no id of a job/);
  const job = parseJobFile(
    'SLURM_JOB_ID=5\nSLURM_JOB_UID=minus\nTACHO_INTERVAL=never\nBEGIN=soon\nTACHO_SCHEDULER=?\n',
  );
  const unused = ['BEGIN=soon', 'TACHO_INTERVAL=never', 'TACHO_SCHEDULER=?'];
  assert.deepEqual(job, { id: '5', scheduler: 'slurm', nodes: [], tags: {}, environment: job.environment, unused });
  assert.equal(parseJobFile('SLURM_JOB_ID=5\nTACHO_INTERVAL=10s\n').intervalSeconds, 10);
  fc.assert(
    fc.property(fc.string(), (text) => {
      try {
        parseJobFile(text);
      } catch (error) {
        assert.match((error as Error).message, /SLURM_JOB_ID|no id/);
      }
    }),
  );
});

test('a file that is a link, too large or gone is not read', (t) => {
  const folder = folderOf(t);
  fs.symlinkSync('/etc/passwd', path.join(folder, 'link'));
  assert.throws(() => readJobText(path.join(folder, 'link')), /ELOOP/);
  fs.writeFileSync(path.join(folder, 'large'), 'x'.repeat(100_000));
  assert.throws(() => readJobText(path.join(folder, 'large')), {
    message: 'it has 100000 bytes, more than the 65536 that a job file may have',
  });
  assert.equal(readJobText(path.join(folder, 'gone')), undefined);
});

test('runs of one id have names of their own', () => {
  assert.deepEqual(
    [jobName({ id: '5' }), jobName({ id: '5', restart: 0 }), jobName({ id: '5', restart: 2 })],
    ['5', '5', '5r2'],
  );
});

test('a folder that cannot be made is told at once, also where the kernel says "no such file" for ever', () => {
  assert.throws(() => writeJobFile('/proc/nope/jobs', { SLURM_JOB_ID: '8' }, JOB_KEYS), /cannot write \/proc\/nope/);
});
