import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { test } from 'node:test';
import { answers, planFor } from '../../../test/made/scheduler-answers.ts';
import { pbs } from './pbs.ts';

const QUERY = 'qstat -x -f -F json 1234';

test('the number is the id, also of array members', () => {
  assert.equal(pbs.detect({ PBS_JOBID: '1234.pbs01' }), '1234');
  assert.equal(pbs.detect({ PBS_JOBID: '1234[7].pbs01' }), '1234[7]');
  for (const none of ['', '../x', '.', ' ', 'a/b']) assert.equal(pbs.detect({ PBS_JOBID: none }), undefined);
  assert.equal(pbs.detect({}), undefined);
});

test('facts from qstat; parts of one node add up', async () => {
  const { run } = answers({ [QUERY]: 'pbs-running.json' });
  const facts = await pbs.facts(run, { PBS_JOBID: '1234.pbs01' }, () => {});
  assert.deepEqual(facts, {
    id: '1234',
    restart: 1,
    cluster: 'pbs01',
    name: 'cfd',
    user: 'auser',
    account: 'cfd-project',
    partition: 'workq',
    directory: '/scratch/auser/run',
    nodes: ['n1', 'n2'],
    asked: { nodes: 2, cpus: 8, memory_bytes: 16 * 2 ** 30, gpus: 2, time_limit_seconds: 5400 },
    per_node: {
      n1: { cpus: 4, memory_bytes: 8 * 2 ** 30, gpus: 1 },
      n2: { cpus: 4, memory_bytes: 8 * 2 ** 30, gpus: 1 },
    },
    submit: Date.parse('Sun Nov 15 10:00:00 2026') * 1000,
  });
});

test('without qstat the environment and the node file are used', async (t) => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-pbs-'));
  t.after(() => fs.rmSync(folder, { recursive: true }));
  const file = path.join(folder, 'nodes');
  fs.writeFileSync(file, 'n1.site\nn1.site\nn2.site\nn2.site\n');
  const env = { PBS_JOBID: '1234.pbs01', PBS_NODEFILE: file, PBS_QUEUE: 'workq', PBS_JOBNAME: 'cfd' };
  const messages: string[] = [];
  const facts = await pbs.facts(answers({}).run, env, (what, why) => messages.push(`${what}: ${why}`));
  assert.deepEqual(facts.nodes, ['n1.site', 'n2.site']);
  assert.equal(facts.partition, 'workq');
  assert.deepEqual(messages, ['what PBS gave to the job: qstat is not installed; the environment alone was used']);

  const launchers = pbs.launch(planFor(['n1.site', 'n2.site'], env), '1234');
  assert.deepEqual(
    launchers.map(({ command, args }) => [command, ...args]),
    [
      ['pbsdsh', '-n', '0', '--', 'on n1.site'],
      ['pbsdsh', '-n', '2', '--', 'on n2.site'],
    ],
  );
});

test('how a job ended', async () => {
  const job = { id: '1234', start: 0 };
  const ended = async (file: string) => pbs.state(answers({ [QUERY]: file }).run, job, () => {});
  assert.deepEqual(await ended('pbs-running.json'), { state: 'running' });
  assert.deepEqual(await ended('pbs-walltime.json'), {
    state: 'timeout',
    end: Date.parse('Sun Nov 15 11:31:04 2026') * 1000,
    reason: 'time limit of 1 h 30 min reached',
  });
  const deleted = await ended('pbs-deleted.json');
  assert.equal(deleted?.state, 'cancelled');
  assert.equal(deleted?.signal, 'SIGTERM');
  assert.equal(await pbs.state(answers({ [QUERY]: { stdout: 'not json' } }).run, job, () => {}), undefined);
});
