import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { test } from 'node:test';
import { parseEndFile, parseJobFile } from '../jobs/on-node/job-file.ts';
import { hooks } from './slurm-hooks.ts';

test('an epilog ends the run that its prolog has begun, though Slurm names it the next one', (t) => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-hooks-'));
  t.after(() => fs.rmSync(folder, { recursive: true }));
  const run = (hook: 'prolog' | 'epilog', restart: string): void => {
    const env = { TACHO_SERVICE_JOBS: folder, SLURM_JOB_ID: '17', SLURM_JOB_RESTART_COUNT: restart };
    assert.equal(spawnSync('/bin/sh', ['-s'], { env, input: hooks()[hook] }).status, 0);
  };
  const text = (name: string): string => fs.readFileSync(path.join(folder, name), 'utf8');
  run('prolog', '0');
  run('epilog', '1');
  assert.deepEqual(fs.readdirSync(folder).sort(), ['17', '17.end']);
  assert.equal(parseEndFile(text('17.end')).restart, undefined);
  run('prolog', '1');
  run('epilog', '2');
  assert.deepEqual(fs.readdirSync(folder).sort(), ['17', '17.end', '17r1', '17r1.end']);
  assert.equal(parseJobFile(text('17r1')).restart, 1);
  assert.equal(parseEndFile(text('17r1.end')).restart, 1);
});

test('a task finds the place of its job, also in a later component of a heterogeneous job', (t) => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-hooks-'));
  t.after(() => fs.rmSync(folder, { recursive: true, force: true }));
  const [jobs, own] = [path.join(folder, 'jobs'), path.join(folder, `users/${process.getuid!()}/jobs`)];
  for (const each of [jobs, own]) fs.mkdirSync(each, { recursive: true });
  const library = path.join(folder, 'library.so');
  fs.writeFileSync(library, '');
  for (const name of ['job-21', 'job-7r2']) {
    fs.writeFileSync(path.join(folder, `events-${name}`), '');
    fs.writeFileSync(path.join(own, `${name}.records`), `${path.join(folder, `events-${name}`)}\n`);
  }
  const script = hooks()['task-prolog'].replace(/^library=.*$/m, `library='${library}'`);
  const printed = (more: Record<string, string>): string => {
    const env = { PATH: process.env.PATH, TACHO_SERVICE_JOBS: jobs, ...more };
    return spawnSync('/bin/sh', ['-s'], { encoding: 'utf8', env, input: script }).stdout;
  };
  const recordOf = (more: Record<string, string>): string | undefined =>
    printed(more).match(/^export TACHO_RECORD=.*events-(.*)$/m)?.[1];
  const groups = { SLURM_JOB_ID_HET_GROUP_0: '20', SLURM_JOB_ID_HET_GROUP_1: '21' };
  assert.equal(recordOf({ SLURM_JOB_ID: '21' }), 'job-21');
  assert.equal(recordOf({ SLURM_JOB_ID: '20', ...groups }), 'job-21');
  assert.equal(recordOf({ SLURM_JOB_ID: '20' }), undefined);
  assert.equal(recordOf({ SLURM_JOB_ID: '7', SLURM_RESTART_COUNT: '2' }), 'job-7r2');
  const user = { SLURM_JOB_ID: '21', TACHO_RECORD: '/dev/shm/user/events', LD_PRELOAD: '/home/libtacho-record.so' };
  assert.equal(printed(user).match(/^export TACHO_RECORD=(.*)$/m)?.[1], `/dev/shm/user/events:${folder}/events-job-21`);
  assert.doesNotMatch(printed(user), /LD_PRELOAD/, 'one library writes for both');
  assert.doesNotMatch(printed({ ...user, TACHO_RECORD: `${folder}/events-job-21` }), /export TACHO_RECORD=/);
});
