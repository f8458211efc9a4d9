import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { test } from 'node:test';
import { answers } from '../../../test/made/scheduler-answers.ts';
import { runner } from './command.ts';
import { keptEnvironment } from './environment.ts';
import { defaultFolder, jobFacts, schedulerOf } from './job-facts.ts';

test('outside of any scheduler: this machine, this user, the command', async () => {
  const facts = await jobFacts({ HOME: '/h' }, { command: ['/usr/bin/make', '-j8'], tags: { case: 'a' } });
  assert.equal(facts.scheduler, 'none');
  assert.deepEqual(facts.nodes, [os.hostname()]);
  assert.equal(facts.name, 'make');
  assert.deepEqual(facts.command, ['/usr/bin/make', '-j8']);
  assert.deepEqual(facts.tags, { case: 'a' });
  assert.match(facts.id, /^\d{8}-\d{6}-make$/);
  assert.equal(facts.uid, process.getuid!());
  assert.deepEqual(facts.asked, {});
});

test('redacted: the program stays, its arguments go', async () => {
  const facts = await jobFacts({}, { command: ['curl', '-u', 'me:secret'], redact: true });
  assert.deepEqual(facts.command, ['curl']);
  assert.equal(facts.redacted, true);
});

test('in a Slurm job the nodes are its nodes; hosts that it does not have are reached otherwise', async () => {
  const { run } = answers({ 'scontrol show job -d 2': 'slurm-scontrol-running.txt' });
  const env = { SLURM_JOB_ID: '2' };
  const facts = await jobFacts(env, { run });
  assert.equal(facts.scheduler, 'slurm');
  assert.deepEqual(facts.nodes, ['c1', 'c2', 'c3']);
  const some = await jobFacts(env, { run, hosts: ['c2'] });
  assert.deepEqual([some.scheduler, some.nodes], ['slurm', ['c2']]);
  const others = await jobFacts(env, { run, hosts: ['x1', 'x1', 'x2'] });
  assert.deepEqual([others.scheduler, others.nodes], ['none', ['x1', 'x2']]);
});

test('Flux inside a Slurm job is what the user works with', () => {
  assert.equal(schedulerOf({ SLURM_JOB_ID: '1', FLUX_URI: 'local:///x/local-0' }).name, 'flux');
  assert.equal(schedulerOf({ SLURM_JOB_ID: '1', FLUX_JOB_ID: 'ƒ12' }).name, 'slurm');
  assert.equal(schedulerOf({ FLUX_JOB_ID: 'ƒ12' }).name, 'flux');
  assert.equal(schedulerOf({ SLURM_JOB_ID: '1' }).name, 'slurm');
  assert.equal(schedulerOf({ PBS_JOBID: '1.s' }).name, 'pbs');
  assert.equal(schedulerOf({}).name, 'none');
});

test('a job file as Omnistat has it', async (t) => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-facts-'));
  t.after(() => fs.rmSync(folder, { recursive: true }));
  const file = path.join(folder, 'rmsjobinfo');
  fs.writeFileSync(
    file,
    '{"RMS_TYPE":"slurm","RMS_JOB_ID":"74129","RMS_JOB_USER":"auser","RMS_JOB_PARTITION":"devel","RMS_JOB_NUM_NODES":"2","RMS_JOB_BATCHMODE":1,"RMS_STEP_ID":-1}',
  );
  const facts = await jobFacts({ SLURM_JOB_ID: '1' }, { jobFile: file, hosts: ['n1', 'n2'] });
  assert.equal(facts.scheduler, 'file');
  assert.deepEqual(
    [facts.id, facts.user, facts.partition, facts.asked.nodes, facts.nodes],
    ['74129', 'auser', 'devel', 2, ['n1', 'n2']],
  );
  fs.writeFileSync(file, '{"RMS_TYPE":"slurm"}');
  await assert.rejects(jobFacts({}, { jobFile: file, strict: true }), /has no RMS_JOB_ID/);
  fs.writeFileSync(file, 'x');
  await assert.rejects(jobFacts({}, { jobFile: file, strict: true }), /is not JSON/);
  await assert.rejects(
    jobFacts({}, { jobFile: `${file}-not`, strict: true }),
    /cannot read the job file .*no such file/,
  );
  // the job goes on without it
  const messages: string[] = [];
  const other = await jobFacts({}, { jobFile: `${file}-not`, tell: (what, why) => messages.push(`${what}: ${why}`) });
  assert.equal(other.scheduler, 'none');
  assert.match(messages.join(), /^cannot read the job file .*no such file or folder: it is not used$/);
});

test('the folder of a recording', () => {
  assert.equal(defaultFolder({ id: '4711' }), 'tacho-4711');
  assert.equal(defaultFolder({ id: '4711_3', restart: 0 }), 'tacho-4711_3');
  assert.equal(defaultFolder({ id: '4711', restart: 2 }), 'tacho-4711-restart2');
  assert.equal(defaultFolder({ id: 'ƒXnQ3rTM' }), 'tacho-fXnQ3rTM');
  assert.equal(defaultFolder({ id: '12[3]' }), 'tacho-12-3-');
});

test('only listed values of the environment are kept', () => {
  assert.deepEqual(
    keptEnvironment({
      OMP_NUM_THREADS: '8',
      CUDA_VISIBLE_DEVICES: '0,1',
      SLURM_JOB_NUM_NODES: '3',
      SLURM_GPUS_PER_NODE: '4',
      SLURM_JOB_ID: '7',
      SLURM_SUBMIT_HOST: 'login1',
      SLURM_JWT: 'token',
      AWS_SECRET_ACCESS_KEY: 'x',
      OMP_TOKEN_x: 'y',
      HOME: '/home/me',
    }),
    {
      CUDA_VISIBLE_DEVICES: '0,1',
      OMP_NUM_THREADS: '8',
      SLURM_GPUS_PER_NODE: '4',
      SLURM_JOB_ID: '7',
      SLURM_JOB_NUM_NODES: '3',
    },
  );
});

test('commands that hang, fail or are not there become a sentence', async () => {
  const run = runner({ EXTRA: 'yes' }, 60);
  const brief = runner({}, 0.2);
  assert.deepEqual(await run('sh', ['-c', 'echo $EXTRA']), { stdout: 'yes\n' });
  assert.equal((await brief('sh', ['-c', 'sleep 60'])).trouble, 'sh gave no answer within 0.2 s');
  // a grandchild that holds the pipe does not hold us
  assert.equal((await brief('sh', ['-c', 'sleep 60 & wait'])).trouble, 'sh gave no answer within 0.2 s');
  assert.equal((await run('no-such-command-here', [])).trouble, 'no-such-command-here is not installed');
  assert.equal((await run('sh', ['-c', 'echo no such job >&2; exit 3'])).trouble, 'sh failed (exit 3): no such job');
});

test('tags of the job come from EPMT_JOB_TAGS, and before that from the command line', async () => {
  const env = { EPMT_JOB_TAGS: 'exp_name:linux;seqno:3;slow' };
  const { tags } = await jobFacts(env, { tags: { seqno: '4' } });
  assert.deepEqual(tags, { exp_name: 'linux', seqno: '4', slow: '1' });
});
