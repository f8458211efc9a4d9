import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answers, planFor } from '../../../test/made/scheduler-answers.ts';
import { flux } from './flux.ts';

const BATCH = { FLUX_URI: 'local:///run/flux/tuo1004/local-0', FLUX_ENCLOSING_ID: 'ƒXnQ3rTM', USER: 'auser' };

test('a batch script belongs to the job of its own instance', () => {
  assert.equal(flux.detect(BATCH), 'ƒXnQ3rTM');
  assert.equal(flux.detect({ FLUX_URI: 'local:///tmp/flux-aBc/local-0', FLUX_JOB_ID: 'ƒ12' }), 'ƒ12');
  assert.equal(flux.detect({ FLUX_URI: 'local:///tmp/flux-aBc/local-0' }), 'flux-aBc');
  assert.equal(flux.detect({ FLUX_JOB_ID: 'ƒ12' }), 'ƒ12');
  assert.equal(flux.detect({ FLUX_JOB_ID: '../x' }), undefined);
  assert.equal(flux.detect({ SLURM_JOB_ID: '1' }), undefined);
});

test('facts from flux jobs and the resource set', async () => {
  const { run, asked } = answers({
    'flux --parent jobs -a --json ƒXnQ3rTM': 'flux-jobs-running.json',
    'flux --parent job info ƒXnQ3rTM R': 'flux-job-R.json',
  });
  const facts = await flux.facts(run, BATCH, () => {});
  assert.deepEqual(facts, {
    id: 'ƒXnQ3rTM',
    name: 'train.sh',
    user: 'auser',
    account: 'physics',
    partition: 'pbatch',
    directory: '/p/lustre1/auser/run',
    nodes: ['tuo1004', 'tuo1005'],
    asked: { nodes: 2, cpus: 192, gpus: 8, time_limit_seconds: 7200 },
    per_node: { tuo1004: { cpus: 96, gpus: 4 }, tuo1005: { cpus: 96, gpus: 4 } },
    submit: 1794729999900000,
  });
  assert.ok(asked.includes('flux getattr hostlist'));
});

test('without an answer the instance still says which nodes there are, and the trouble is told', async () => {
  const messages: string[] = [];
  const { run } = answers({ 'flux getattr hostlist': { stdout: 'tuo[1-2]\n' } });
  const facts = await flux.facts(run, BATCH, (what, why) => messages.push(`${what}: ${why}`));
  assert.deepEqual(facts.nodes, ['tuo1', 'tuo2']);
  assert.deepEqual(facts.asked, { nodes: 2 });
  assert.deepEqual(messages, ['what Flux gave to the job: flux is not installed']);
});

test('one flux exec starts an agent on every broker; for some nodes their ranks are named', () => {
  const [all] = flux.launch(planFor(['a', 'b', 'c'], BATCH), 'ƒXnQ3rTM');
  assert.deepEqual(
    [all!.command, ...all!.args],
    ['flux', 'exec', '--noinput', '--label-io', '--rank=all', 'everywhere $(hostname -s)'],
  );
  const [some] = flux.launch({ ...planFor(['c'], BATCH), jobNodes: ['a', 'b', 'c'] }, 'ƒXnQ3rTM');
  assert.ok(some!.args.includes('--rank=2'));
  const [own] = flux.launch(planFor(['a'], { FLUX_URI: 'local:///x', FLUX_JOB_ID: 'ƒ12' }), 'ƒ12');
  assert.ok(own!.args.includes('--jobid=ƒ12'));
});

test('how a job ended', async () => {
  const job = { id: 'ƒXnQ3rTM', start: 0 };
  const timeout = answers({ 'flux jobs -a --json ƒXnQ3rTM': 'flux-jobs-timeout.json' });
  assert.deepEqual(await flux.state(timeout.run, job, () => {}), {
    state: 'timeout',
    end: 1794737212250000,
    exit_code: 142,
    reason: 'time limit reached',
  });
  const cancelled = answers({ 'flux jobs -a --json ƒXnQ3rTM': 'flux-jobs-cancelled.json' });
  assert.deepEqual(await flux.state(cancelled.run, job, () => {}), {
    state: 'cancelled',
    end: 1794730100500000,
    signal: 'SIGTERM',
    reason: 'cancel: wrong input',
  });
  const running = answers({ 'flux jobs -a --json ƒXnQ3rTM': 'flux-jobs-running.json' });
  assert.deepEqual(await flux.state(running.run, job, () => {}), { state: 'running' });
  const messages: string[] = [];
  assert.equal(await flux.state(answers({}).run, job, (what, why) => messages.push(`${what}: ${why}`)), undefined);
  assert.deepEqual(messages, ['how the job ended: flux is not installed']);
});
