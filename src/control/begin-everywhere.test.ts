import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { type TestContext, test } from 'node:test';
import { eventually } from '../../test/made/eventually.ts';
import { answers } from '../../test/made/scheduler-answers.ts';
import type { Fault } from '../base/fault.ts';
import { processId, stillRuns } from '../jobs/on-node/process-id.ts';
import { schedulerRunner } from '../jobs/schedulers/job-facts.ts';
import { createRecording } from '../recording/folder/create.ts';
import type { Job } from '../recording/folder/job.ts';
import { findActive } from './active.ts';
import { beginEverywhere } from './begin-everywhere.ts';
import { agentRecord, lastLogLines, startAgents, stopAgents, whyMissing } from './launch.ts';
import { startRecording } from './start.ts';

/** A stand-in for an agent: a sample, a record, and an end when it is asked to. */
const AGENT = `#!/bin/sh
while [ $# -gt 0 ]; do
  case $1 in --recording) recording=$2 ;; --node) node=$2 ;; esac
  shift
done
cd "$recording/node=$node"
record() {
  echo "{ \\"pid\\": $$, \\"first_sample\\": 1$1 }" >new
  mv new agent.json
}
trap 'record ", \\"end\\": 2"; exit' TERM
echo sample >>loadavg.csv
record
while :; do sleep 0.05; done
`;

/** A stand-in for srun: for one node that is gone it ends all others, as soon as there is a file "enough"; it may not say why. */
const SRUN = `#!/bin/sh
for each; do case $each in --nodelist=*) nodes=\${each#*=} ;; esac; done
[ "$nodes" != 'c[1-3]' ] || nodes=c1,c2,c3
while [ "$1" != -- ]; do shift; done
shift
lost='' pids=''
for node in $(echo "$nodes" | tr , ' '); do
  if [ -e "$HOME/gone-$node" ]; then
    lost="$lost $node"
  else
    SLURMD_NODENAME=$node "$@" &
    pids="$pids $!"
  fi
done
if [ -n "$lost" ]; then
  until [ -e "$HOME/enough" ] || [ ! -d "$HOME" ]; do sleep 0.02; done
  for node in $lost; do
    [ -e "$HOME/curt" ] || echo "srun: error: Task launch for StepId=7.0 failed on node $node: Communication connection failure" >&2
  done
  echo 'srun: error: Application launch failed: Communication connection failure' >&2
  [ -z "$pids" ] || kill -KILL $pids
  echo 'srun: error: c1: task 0: Killed' >&2
fi
wait
`;

const NODES = ['c1', 'c2', 'c3'];
const REFUSED = 'srun: error: Task launch for StepId=7.0 failed on node c3: Communication connection failure';

function cluster(t: TestContext, ...signs: string[]) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-begin-'));
  fs.mkdirSync(path.join(folder, 'run'), { mode: 0o700 });
  const script = (name: string, text: string): string => {
    fs.writeFileSync(path.join(folder, name), text, { mode: 0o755 });
    return path.join(folder, name);
  };
  script('srun', SRUN);
  for (const sign of signs) script(sign, '');
  const env = {
    HOME: folder,
    XDG_CACHE_HOME: process.env.XDG_CACHE_HOME ?? folder,
    PATH: `${folder}:${process.env.PATH}`,
    XDG_RUNTIME_DIR: path.join(folder, 'run'),
    SLURM_JOB_ID: '7',
    SLURM_JOB_NODELIST: 'c[1-3]',
  };
  const recording = path.join(folder, 'r');
  const tacho = [script('agent', AGENT)];
  const pid = (node: string): number => agentRecord(recording, node)!.pid;
  t.after(async () => {
    for (const node of NODES)
      if (agentRecord(recording, node)?.end === undefined) kill(agentRecord(recording, node)?.pid);
    for (const each of findActive(env)?.launched ?? [])
      await eventually(`the end of ${each.pid}`, () => !stillRuns(each));
    fs.rmSync(folder, { recursive: true, force: true });
  });
  const start = (allowMissing: number) =>
    startRecording(env, {
      ...{ intervalSeconds: 1, parent: folder, folder: recording, limitSeconds: 120, watchPid: process.pid },
      ...{ allowMissing, tacho, run: answers({}).run, processes: false },
    });
  /** Lets srun give up as soon as these nodes have begun. */
  const giveUpAfter = async (...nodes: string[]): Promise<void> => {
    await eventually(`agents of ${nodes}`, () => nodes.every((node) => agentRecord(recording, node) !== undefined));
    script('enough', '');
  };
  return { env, recording, tacho, start, giveUpAfter, isAlive: (node: string) => stillRuns(processId(pid(node))) };
}

function kill(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(pid, 'SIGKILL');
  } catch {
    // it has gone by itself
  }
}

const samples = (recording: string, node: string): string =>
  fs.readFileSync(path.join(recording, `node=${node}`, 'loadavg.csv'), 'utf8');

test('a node that srun cannot reach takes the others along: these are started again', async (t) => {
  const { env, recording, start, giveUpAfter, isAlive } = cluster(t, 'gone-c3');
  const [started] = await Promise.all([start(1), giveUpAfter('c1', 'c2')]);
  assert.deepEqual(started.missing, [{ node: 'c3', logLines: [REFUSED] }]);
  assert.deepEqual(started.job.not_recorded, { c3: REFUSED });
  assert.deepEqual([isAlive('c1'), isAlive('c2')], [true, true]);
  // what the first agents wrote before the job began is not in the recording
  assert.deepEqual([samples(recording, 'c1'), samples(recording, 'c2')], ['sample\n', 'sample\n']);
  const { launched } = findActive(env)!;
  assert.deepEqual(
    launched.map(({ nodes }) => nodes),
    [['c1', 'c2']],
  );
  assert.ok(stillRuns(launched[0]!));
  const agents = { recording, job: started.job, nodes: NODES, env };
  assert.deepEqual(await stopAgents(agents, launched, schedulerRunner()), ['c3']);
});

test('when no node may be missing, the one that cannot be reached is named, and not those that it took along', async (t) => {
  // srun gives up before any agent has said a word
  const { env, recording, start } = cluster(t, 'gone-c3', 'enough');
  await assert.rejects(start(0), (error: Fault) => {
    assert.equal(error.message, '1 of 3 nodes did not begin to record: c3');
    assert.equal(error.hint, `${REFUSED}\n--allow-missing 1 records the others`);
    return true;
  });
  assert.equal(findActive(env), undefined);
  assert.equal(fs.existsSync(path.join(recording, 'node=c3/agent.json')), false);
});

test('several nodes that cannot be reached, and one agent for which srun gave up too early', async (t) => {
  const { start, giveUpAfter, isAlive } = cluster(t, 'gone-c1', 'gone-c3');
  const [{ missing }] = await Promise.all([start(2), giveUpAfter()]);
  assert.deepEqual(
    missing.map(({ node }) => node),
    ['c1', 'c3'],
  );
  assert.ok(isAlive('c2'));
});

test('srun does not say which node it was: the one that nothing was heard of', async (t) => {
  const { start, giveUpAfter, isAlive } = cluster(t, 'gone-c2', 'curt');
  const [{ missing }] = await Promise.all([start(1), giveUpAfter('c1', 'c3')]);
  assert.deepEqual(
    missing.map(({ node }) => node),
    ['c2'],
  );
  assert.deepEqual([isAlive('c1'), isAlive('c3')], [true, true]);
});

test('no node can be reached', async (t) => {
  const { start, giveUpAfter } = cluster(t, 'gone-c1', 'gone-c2', 'gone-c3');
  const [{ missing }] = await Promise.all([start(3), giveUpAfter()]);
  assert.deepEqual(
    missing.map(({ node }) => node),
    NODES,
  );
});

for (const allowMissing of [0, 1]) {
  test(`srun still waits for a node at the time limit; ${allowMissing} may be missing`, async (t) => {
    const { env, recording, tacho, isAlive } = cluster(t, 'gone-c3');
    const job = { id: '7', scheduler: 'slurm', nodes: NODES, interval_seconds: 1 } as Job;
    createRecording(recording, job);
    const agents = { recording, job, nodes: NODES, env, tacho };
    const first = startAgents(agents, 120);
    await eventually('two agents', () => ['c1', 'c2'].every((node) => agentRecord(recording, node) !== undefined));
    const { pid } = agentRecord(recording, 'c1')!;
    const patience = { limitSeconds: 120, waitedSeconds: 120, allowMissing };
    const { launched, missing } = await beginEverywhere(agents, first, patience);
    assert.deepEqual(missing, ['c3']);
    assert.deepEqual(lastLogLines(recording, ['c3'])[0], ['tacho: c3: srun gave no answer within 2 min 00 s']);
    assert.deepEqual([isAlive('c1'), isAlive('c2')], [true, true]);
    // it does not get the chance to end the others, unless these are not wanted anyway
    const again = allowMissing === 1;
    assert.deepEqual([launched !== first, first.some(stillRuns)], [again, !again]);
    assert.equal(agentRecord(recording, 'c1')!.pid !== pid, again);
    assert.deepEqual(await stopAgents(agents, launched, schedulerRunner()), ['c3']);
  });
}

test('of many nodes those are started for which there is time, this very node first', (t) => {
  const { recording, env } = cluster(t);
  const own = os.hostname();
  const job = { id: '7', scheduler: 'file', nodes: ['far1', own, 'far2'], interval_seconds: 1 } as Job;
  createRecording(recording, job);
  const launched = startAgents({ recording, job, nodes: job.nodes, env, tacho: ['true'] }, 0);
  assert.deepEqual(
    launched.map(({ nodes, late }) => [...nodes, late]),
    [
      [own, undefined],
      ['far1', true],
      ['far2', true],
    ],
  );
  const [far] = whyMissing(recording, ['far2'], launched, 3);
  assert.deepEqual(far, { node: 'far2', logLines: ['not started: others took the 3.0 s (--timeout waits longer)'] });
});

test('of a node that has said itself what is wrong, nothing else is told', (t) => {
  const { recording } = cluster(t);
  fs.mkdirSync(path.join(recording, 'node=c3'), { recursive: true });
  const own = 'tacho: c3: there is no /tmp/r here';
  const lines = ['srun: warning', own, 'srun: error: c3: task 2: Exited with exit code 1'];
  fs.writeFileSync(path.join(recording, 'launch.log'), lines.join('\n'));
  assert.deepEqual(lastLogLines(recording, ['c3'])[0], [own]);
  assert.deepEqual(lastLogLines(recording, ['c2'])[0], lines);
});
