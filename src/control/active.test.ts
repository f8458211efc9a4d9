import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { test } from 'node:test';
import { Fault } from '../base/fault.ts';
import { findActive, needSpeakable } from './active.ts';

test('where recordings in progress cannot be noted, that is said with what to do', (t) => {
  const run = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-active-'));
  t.after(() => fs.rmSync(run, { recursive: true }));
  const blockingFile = path.join(run, 'tacho');
  const refused = (): Fault => {
    try {
      findActive({ XDG_RUNTIME_DIR: run });
    } catch (error) {
      assert.ok(error instanceof Fault);
      return error;
    }
    throw new Error('it was not refused');
  };
  fs.writeFileSync(blockingFile, '');
  assert.equal(refused().message, `cannot use ${blockingFile} to note which recordings go on: it is not a folder`);
  assert.match(refused().hint!, /set TACHO_RECORDING/);
  fs.rmSync(blockingFile);
  fs.mkdirSync(blockingFile);
  fs.chmodSync(blockingFile, 0o777);
  assert.match(refused().message, /: others may write there$/);
  fs.rmdirSync(blockingFile);
  assert.equal(findActive({ XDG_RUNTIME_DIR: run }), undefined);
  assert.equal(fs.statSync(blockingFile).mode & 0o777, 0o700);
});

test('on a node whose agent is a service, tasks of arrays and of heterogeneous jobs find their own place', (t) => {
  const run = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-active-'));
  t.after(() => fs.rmSync(run, { recursive: true }));
  const env = { XDG_RUNTIME_DIR: run, TACHO_SERVICE_JOBS: path.join(run, 'jobs') };
  const marksPath = path.join(run, `users/${process.getuid!()}/jobs/job-18.marks`);
  fs.mkdirSync(marksPath, { recursive: true, mode: 0o700 });
  fs.writeFileSync(path.join(marksPath, 'job.json'), '{}');
  const array = { SLURM_JOB_ID: '18', SLURM_ARRAY_JOB_ID: '17', SLURM_ARRAY_TASK_ID: '1' };
  const component = { SLURM_JOB_ID: '17', SLURM_JOB_ID_HET_GROUP_0: '17', SLURM_JOB_ID_HET_GROUP_1: '18' };
  for (const job of [array, component]) assert.equal(needSpeakable({ ...env, ...job }, 'a mark'), marksPath);
  assert.throws(() => needSpeakable({ ...env, SLURM_JOB_ID: '17' }, 'a mark'), /nothing is being recorded/);
});
