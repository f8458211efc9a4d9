import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { type TestContext, test } from 'node:test';
import { hooks } from '../jobs/slurm-hooks.ts';
import { jobRecords } from './job-records.ts';

const uid = process.getuid!();

function setUp(t: TestContext) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-records-'));
  const jobs = path.join(folder, 'jobs');
  const pointers = path.join(folder, 'records');
  fs.mkdirSync(jobs);
  const pointed = (name: string): string | undefined => {
    const file = path.join(pointers, name);
    return fs.existsSync(file) ? fs.readFileSync(file, 'utf8').trim() : undefined;
  };
  t.after(() => {
    for (const name of fs.readdirSync(pointers)) {
      if (name.startsWith('job-')) fs.rmSync(path.dirname(pointed(name)!), { recursive: true, force: true });
    }
    fs.rmSync(folder, { recursive: true });
  });
  const prolog = (id: string): void => {
    const env = { TACHO_SERVICE_JOBS: jobs, SLURM_JOB_ID: id, SLURM_JOB_UID: String(uid) };
    assert.equal(spawnSync('/bin/sh', ['-s'], { env, input: hooks().prolog }).status, 0);
  };
  return { folder, jobs, pointers, pointed, prolog };
}

test('a prolog makes the place before the agent knows of the job, and the agent takes it', (t) => {
  const { folder, pointers, pointed, prolog } = setUp(t);
  const records = jobRecords(pointers);
  prolog('17');
  const file = pointed('job-17')!;
  fs.writeFileSync(file, 'what the first task said\n');
  const recording = path.join(folder, 'job-17');
  const job = { id: '17', uid };
  assert.deepEqual(records.place('job-17', job, recording), { file, events: [], owner: uid });
  assert.equal(records.place('job-17', job, recording).file, file, 'and once more');
  assert.equal(fs.readFileSync(file, 'utf8'), 'what the first task said\n');
  assert.equal(fs.statSync(path.dirname(file)).mode & 0o777, 0o711);
  assert.equal(fs.statSync(file).mode & 0o777, 0o600);
  prolog('17');
  assert.equal(pointed('job-17'), file, 'slurmd may run the prolog of a running job again');
  const other = records.place('job-17', job, path.join(folder, 'job-17.2')).file;
  assert.notEqual(other, file, 'another recording has another place');
  fs.rmSync(path.dirname(file), { recursive: true });
});

test('without an agent no prolog makes a place; what came since an agent started is not tidied away', (t) => {
  const { pointers, pointed, prolog } = setUp(t);
  const first = jobRecords(pointers);
  prolog('17');
  const old = pointed('job-17')!;
  first.close();
  prolog('18');
  assert.equal(pointed('job-18'), undefined);
  fs.utimesSync(path.join(pointers, 'job-17'), 1, 1);
  const next = jobRecords(pointers);
  prolog('19');
  next.tidy([]);
  assert.equal(pointed('job-17'), undefined);
  assert.equal(fs.existsSync(old), false);
  assert.equal(fs.existsSync(pointed('job-19')!), true);
  next.close();
});
