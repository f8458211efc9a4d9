import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { test } from 'node:test';
import { JOB_KEYS, parseJobFile, readJobText, writeJobFile } from './job-file.ts';
import { beginVariables, endVariables } from './job-variables.ts';

test('flags go over a file, and a file over the environment of a prolog', (t) => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-variables-'));
  t.after(() => fs.rmSync(folder, { recursive: true }));
  const file = path.join(folder, 'job.json');
  fs.writeFileSync(
    file,
    JSON.stringify({
      RMS_JOB_ID: '74129',
      RMS_JOB_USER: 'ada',
      RMS_JOB_NODELIST: 'c[1-2]',
      RMS_JOB_PARTITION: 'devel',
    }),
  );
  const env = { SLURM_JOB_ID: '1', SLURM_JOB_USER: 'eve', SLURM_JOB_UID: '666', SLURM_JOB_NODELIST: 'login1' };
  const written = writeJobFile(folder, beginVariables(env, { jobFile: file, interval: 10, uid: '1001' }), JOB_KEYS);
  const { begin: _, environment: __, ...job } = parseJobFile(fs.readFileSync(written, 'utf8'));
  assert.deepEqual(job, {
    id: '74129',
    scheduler: 'slurm',
    user: 'ada',
    uid: 1001,
    partition: 'devel',
    nodes: ['c1', 'c2'],
    intervalSeconds: 10,
    tags: {},
  });
});

test('a job file of very many nodes can be read, or is not written', (t) => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-variables-'));
  t.after(() => fs.rmSync(folder, { recursive: true }));
  const begin = (nodes: readonly string[]): string => {
    const jobFile = path.join(folder, 'job.json');
    fs.writeFileSync(jobFile, JSON.stringify({ RMS_JOB_ID: '77', RMS_JOB_NODELIST: nodes.join(',') }));
    return writeJobFile(path.join(folder, 'jobs'), beginVariables({}, { jobFile }), JOB_KEYS);
  };
  const nodes = Array.from({ length: 200_000 }, (_, i) => `node${String(i).padStart(6, '0')}`);
  assert.deepEqual(parseJobFile(readJobText(begin(nodes))!).nodes, nodes);
  fs.rmSync(path.join(folder, 'jobs'), { recursive: true });
  const scattered = nodes.filter((_, i) => i % 2 === 0);
  assert.throws(
    () => begin(scattered),
    /jobs\/77: it would have \d{7} bytes, more than the 65536 that a job file may have/,
  );
  assert.equal(fs.existsSync(path.join(folder, 'jobs', '77')), false);
});

test('the number of a user who is named is that user’s, not the one in the environment', () => {
  const env = { SLURM_JOB_ID: '1', SLURM_JOB_USER: 'eve', SLURM_JOB_UID: '666' };
  assert.equal(beginVariables(env, {}).SLURM_JOB_UID, '666');
  assert.equal(beginVariables(env, { user: 'root' }).SLURM_JOB_UID, '0');
  assert.equal(beginVariables(env, { user: 'nobody-has-this-name' }).SLURM_JOB_UID, undefined);
});

test('how a job ended, from a flag or the epilog', () => {
  assert.equal(endVariables({ SLURM_JOBID: '5' }, { exitCode: '3' }).SLURM_JOB_EXIT_CODE2, '3:0');
  assert.equal(endVariables({ SLURM_JOBID: '5' }, {}).SLURM_JOB_ID, '5');
  assert.equal(endVariables({ SLURM_JOB_EXIT_CODE2: '0:9' }, { jobId: '6' }).SLURM_JOB_EXIT_CODE2, '0:9');
});
