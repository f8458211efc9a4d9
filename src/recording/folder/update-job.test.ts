import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { jobOf, temporary } from '../../../test/make-recording.ts';
import { saveJob } from './create.ts';
import type { Job } from './job.ts';
import { updateJob } from './update-job.ts';

const read = (folder: string): Job => JSON.parse(fs.readFileSync(path.join(folder, 'job.json'), 'utf8'));

test('what is said of a running job is still there when it ends', () => {
  const folder = temporary();
  const job = jobOf({ state: 'running', tags: { case: 'a' } });
  saveJob(folder, job);
  updateJob(folder, (now) => ({ ...now, annotations: { note: 'slow disk' }, tags: { ...now.tags, kind: 'test' } }));
  saveJob(folder, { ...job, state: 'completed', exit_code: 0 });
  const ended = read(folder);
  assert.equal(ended.state, 'completed');
  assert.deepEqual(ended.annotations, { note: 'slow disk' });
  assert.deepEqual(ended.tags, { case: 'a', kind: 'test' });
  assert.deepEqual(fs.readdirSync(folder), ['job.json']);
});

test('a job is not changed into one that nobody could read again', () => {
  const folder = temporary();
  saveJob(folder, jobOf());
  const before = read(folder);
  const long = (now: Job): Job => ({ ...now, annotations: { note: 'x'.repeat(1 << 20) } });
  assert.throws(() => updateJob(folder, long), /cannot change .*job\.json: it would have \d+ bytes; more than 1048576/);
  assert.deepEqual(read(folder), before);
  assert.deepEqual(fs.readdirSync(folder), ['job.json']);
});

test('many that change a job at once all have their say', async () => {
  const folder = temporary();
  saveJob(folder, jobOf());
  const script = `
    import { updateJob } from '${path.join(import.meta.dirname, 'update-job.ts')}';
    for (let i = 0; i < 20; i++)
      updateJob(process.argv[1], (job) => ({ ...job, annotations: { ...job.annotations, [process.argv[2] + i]: '1' } }));`;
  const ends = ['a', 'b', 'c'].map(
    (name) =>
      new Promise((resolve) => {
        const args = ['--input-type=module', '-e', script, folder, name];
        spawn(process.execPath, args, { stdio: 'inherit' }).on('close', resolve);
      }),
  );
  assert.deepEqual(await Promise.all(ends), [0, 0, 0]);
  assert.equal(Object.keys(read(folder).annotations!).length, 60);
});

test('a lock that was left behind does not hold for ever', () => {
  const folder = temporary();
  saveJob(folder, jobOf());
  const lock = path.join(folder, 'job.json.lock');
  fs.writeFileSync(lock, '');
  fs.utimesSync(lock, new Date(0), new Date(0));
  updateJob(folder, (job) => ({ ...job, name: 'other' }));
  assert.equal(read(folder).name, 'other');
  assert.ok(!fs.existsSync(lock));
});

test('a damaged job.json is left as it is', () => {
  const folder = temporary();
  fs.writeFileSync(path.join(folder, 'job.json'), '{"id":');
  assert.throws(() => updateJob(folder, (job) => job), /cannot read .*job\.json: it is damaged/);
  assert.equal(fs.readFileSync(path.join(folder, 'job.json'), 'utf8'), '{"id":');
});
