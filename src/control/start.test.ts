import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { type TestContext, test } from 'node:test';
import { eventually } from '../../test/made/eventually.ts';
import { answers } from '../../test/made/scheduler-answers.ts';
import type { Fault } from '../base/fault.ts';
import { processId, stillRuns } from '../jobs/on-node/process-id.ts';
import { fileJob, type RefreshOptions, refreshJob } from '../jobs/schedulers/refresh.ts';
import { isAlive } from '../recording/folder/alive.ts';
import type { Job } from '../recording/folder/job.ts';
import { openRecording, type Recording } from '../recording/folder/open.ts';
import { findActive, needActive } from './active.ts';
import { agentRecord } from './launch.ts';
import { endPhase, openPhases, writeMarks } from './mark.ts';
import { startRecording } from './start.ts';
import { type NodeStatus, recordingStatus } from './status.ts';
import { stopRecording } from './stop.ts';

/** A stand-in for ssh: what it starts gets a pipe that ends with it. The host "bad" cannot be reached, "mute" says nothing. */
const SSH = `#!/bin/sh
while [ $# -gt 2 ]; do shift; done
case $1 in
  bad) printf 'ssh: connect to host bad: no route to host\\r\\n' >&2; exit 255 ;;
  mute) sleep 60 & echo $! >"$HOME/mute"; wait ;;
esac
exec ${process.execPath} -e '
  const child = require("node:child_process").spawn("sh", ["-c", process.argv[1]], { stdio: ["pipe", "inherit", "inherit"] });
  process.stdin.pipe(child.stdin);
  child.on("exit", () => process.exit());
' -- "$2"
`;

function machine(t: TestContext) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-start-'));
  fs.mkdirSync(path.join(folder, 'run'), { mode: 0o700 });
  fs.mkdirSync(path.join(folder, 'bin'));
  fs.writeFileSync(path.join(folder, 'bin/ssh'), SSH, { mode: 0o755 });
  const env: Record<string, string> = {
    HOME: folder,
    XDG_CACHE_HOME: process.env.XDG_CACHE_HOME ?? folder,
    PATH: `${folder}/bin:${process.env.PATH}`,
    XDG_RUNTIME_DIR: path.join(folder, 'run'),
  };
  t.after(async () => {
    const active = findActive(env);
    if (active !== undefined) await stopRecording(env, undefined, () => {});
    fs.rmSync(folder, { recursive: true, force: true });
  });
  const options = { intervalSeconds: 0.2, parent: folder, allowMissing: 0, limitSeconds: 120, watchPid: process.pid };
  return { folder, env, options };
}

const silently = (): void => {};

/** How its only node records; a machine with much to do may take a while until it does. */
const state = (recording: string): Promise<NodeStatus> =>
  eventually(
    () => `a node that records: ${JSON.stringify(recordingStatus(recording).nodes)}`,
    () =>
      recordingStatus(recording)
        .nodes.slice(0, 1)
        .find((node) => node.state === 'recording'),
  );

test('start on this machine, mark, look, stop', async (t) => {
  const { folder, env, options } = machine(t);
  const { recording, job, missing } = await startRecording(env, { ...options, name: 'try', tags: { case: 'a' } });
  assert.deepEqual(missing, []);
  assert.match(path.basename(recording), /^tacho-\d{8}-\d{6}-try$/);
  assert.equal(fs.statSync(recording).mode & 0o777, 0o700);
  assert.equal(needActive(env, '').recording, recording);
  const node = job.nodes[0]!;
  assert.ok(agentRecord(recording, node)!.first_sample! > 0);

  await assert.rejects(
    startRecording(env, options),
    (error: Fault) => error.message === `this session is being recorded already, in ${recording}` && error.exit === 1,
  );

  const status = await state(recording);
  assert.equal(status.state, 'recording');
  assert.ok(status.ticks >= 1);

  writeMarks(recording, env, [{ action: 'begin', name: 'outer' }]);
  writeMarks(recording, env, [{ action: 'begin', name: 'a "b", c' }]);
  assert.deepEqual(openPhases(recording, env), ['outer', 'a "b", c']);
  assert.throws(() => endPhase(recording, env, 'other'), /"other" was not begun/);
  assert.equal(endPhase(recording, env, undefined), 'a "b", c');
  assert.equal(endPhase(recording, env, 'outer'), 'outer');
  assert.throws(() => endPhase(recording, env, undefined), /no phase is open/);

  const stopped = await stopRecording(env, undefined, silently);
  assert.deepEqual([stopped.silent, stopped.over], [[], true]);
  const { job: ended } = openRecording(recording);
  assert.equal(ended.state, 'completed');
  assert.ok(ended.end! > ended.start);
  assert.deepEqual(ended.tags, { case: 'a' });
  assert.equal(agentRecord(recording, node)?.end_reason, 'SIGTERM');
  assert.equal(findActive(env), undefined);
  assert.throws(() => needActive(env, 'there is nothing to stop'), /nothing is being recorded in this session/);
  assert.deepEqual(fs.readdirSync(folder).filter((name) => name.startsWith('tacho-')).length, 1);
});

test('hosts by ssh: one that cannot be reached is named, and the others are not left running', async (t) => {
  const { folder, env, options } = machine(t);
  await assert.rejects(
    startRecording(env, { ...options, hosts: ['far1', 'bad'], folder: path.join(folder, 'r1') }),
    (error: Fault) => {
      assert.equal(error.message, '1 of 2 nodes did not begin to record: bad');
      assert.match(error.hint!, /ssh: connect to host bad: no route to host(?!\r)/);
      assert.match(error.hint!, /--allow-missing 1/);
      return true;
    },
  );
  assert.ok(agentRecord(path.join(folder, 'r1'), 'far1')!.end! > 0);
  assert.equal(findActive(env), undefined);

  const { recording, missing } = await startRecording(env, {
    ...options,
    hosts: ['far1', 'far2', 'bad'],
    allowMissing: 1,
  });
  assert.deepEqual(
    missing.map(({ node }) => node),
    ['bad'],
  );
  // the connection to one node drops: its agent ends by itself
  const launched = findActive(env)!.launched.find(({ nodes }) => nodes[0] === 'far1')!;
  process.kill(launched.pid, 'SIGKILL');
  await eventually('the end of the agent', () => agentRecord(recording, 'far1')?.end);
  assert.equal(agentRecord(recording, 'far1')?.end_reason, 'the connection that started it has ended');
  const { silent, never } = await stopRecording(env, undefined, silently);
  assert.deepEqual([silent, never], [['bad'], ['bad']]);
  const why = { bad: 'ssh: connect to host bad: no route to host' };
  assert.deepEqual(openRecording(recording).job.not_recorded, why);
  assert.ok(agentRecord(recording, 'far2')!.end! > 0);
});

test('what gives no answer is named, and ended with all that it started', async (t) => {
  const { folder, env, options } = machine(t);
  await assert.rejects(
    startRecording(env, { ...options, hosts: ['mute'], folder: path.join(folder, 'r'), limitSeconds: 6 }),
    (error: Fault) => {
      assert.equal(error.message, '1 of 1 node did not begin to record: mute');
      // there is no log to look into, and nobody else to be recorded
      assert.equal(error.hint, 'mute: ssh gave no answer within 6.0 s: try it by hand, or wait longer (--timeout)');
      return true;
    },
  );
  const left = processId(Number(fs.readFileSync(path.join(folder, 'mute'), 'utf8')));
  await eventually('the end of what it started', () => !stillRuns(left));
});

test('an agent that was killed is named by stop, and does not hold it up', async (t) => {
  const { env, options } = machine(t);
  const { recording, job } = await startRecording(env, options);
  const [node] = job.nodes;
  const here = (): Recording['nodes'][number] => openRecording(recording).nodes[0]!;
  assert.deepEqual([(await state(recording)).state, isAlive(here())], ['recording', true]);
  const { pid } = agentRecord(recording, node!)!;
  process.kill(pid, 'SIGKILL');
  await eventually('the end of the agent', () => !stillRuns(processId(pid)));
  // its newest sample is fresh, but nobody will add to it
  assert.deepEqual([recordingStatus(recording).nodes[0]!.state, isAlive(here())], ['silent', false]);
  const { silent, over } = await stopRecording(env, undefined, silently);
  assert.deepEqual([silent, over], [job.nodes, true]);
});

/** A recording of a job like this. */
function become(opened: Recording, job: Job): void {
  opened.job = job;
  fs.writeFileSync(path.join(opened.path, 'job.json'), JSON.stringify(job));
}

/** Asks, which changes nothing, and then keeps what was said. */
async function refreshAndFile(opened: Recording, options: RefreshOptions): Promise<Job> {
  const file = path.join(opened.path, 'job.json');
  const before = fs.readFileSync(file, 'utf8');
  const job = await refreshJob(opened, options);
  assert.equal(fs.readFileSync(file, 'utf8'), before);
  await fileJob(opened, options);
  return job;
}

test('how a job ended that could not say so is asked of the scheduler, and kept', async (t) => {
  const { env, options } = machine(t);
  const { recording } = await startRecording(env, options);
  await stopRecording(env, undefined, silently);
  const opened = openRecording(recording);
  delete opened.job.end;
  become(opened, { ...opened.job, id: '4', scheduler: 'slurm', state: 'running', start: 1794777907_000000 });
  const { run } = answers({ 'scontrol show job 4': 'slurm-scontrol-timeout.txt' });
  const job = await refreshAndFile(opened, { run });
  assert.deepEqual([job.state, job.end, job.reason], ['timeout', 1794777996000000, 'time limit of 1 min 00 s reached']);
  assert.equal(openRecording(recording).job.state, 'timeout');
  // the agent of a node says it more exactly in a moment
  const { agent } = opened.nodes[0]!;
  const { end: _, ...open } = agent!;
  opened.nodes[0]!.agent = { ...open, service: true };
  const now = Math.floor(Date.now() / 1000);
  const over = answers({
    'scontrol show job 5': { stdout: `JobId=5 JobState=COMPLETED EndTime=${now} ExitCode=0:0\n` },
  });
  opened.job = { ...opened.job, id: '5' };
  assert.equal((await refreshAndFile(opened, over)).state, 'completed');
  assert.equal(openRecording(recording).job.state, 'timeout');
  // it goes on as long as there are processes, which Slurm is ending
  const ending = answers({
    'scontrol show job 5': { stdout: `JobId=5 JobState=CANCELLED EndTime=${now - 5} ExitCode=0:15\n` },
  });
  const node = opened.nodes[0]!;
  opened.nodes[0] = { ...node, tables: new Map(), agent: { ...node.agent!, last_sample: now * 1e6 } };
  const cancelled = await refreshAndFile({ ...opened, job: { ...opened.job, start: (now - 20) * 1e6 } }, ending);
  assert.deepEqual([cancelled.state, cancelled.end], ['cancelled', now * 1e6]);
  opened.nodes[0] = { ...node, agent: agent! };
  // nobody knows: that every agent has ended says when
  opened.job = { ...opened.job, scheduler: 'none' };
  const unknown = await refreshAndFile(opened, answers({}));
  assert.deepEqual([unknown.state, unknown.reason], ['unknown', 'recording ended: SIGTERM']);
  assert.equal(unknown.end, opened.nodes[0]!.agent!.end);
});

test('a command that the scheduler killed: who did it, and the steps that ran meanwhile', async (t) => {
  const { env, options } = machine(t);
  const { recording } = await startRecording(env, options);
  await stopRecording(env, undefined, silently);
  const opened = openRecording(recording);
  const start = 1794777907_500000;
  const job = { ...opened.job, scheduler: 'slurm', start, state: 'failed' } as const;
  const fields = 'JobID,JobName,State,ExitCode,Start,End,NodeList,NTasks,MaxRSS';
  const { run, asked } = answers({
    'scontrol show job 4': 'slurm-scontrol-timeout.txt',
    [`sacct -j 4 -D -P -n -o ${fields}`]: 'slurm-sacct-timeout.txt',
    [`sacct -j 7 -D -P -n -o ${fields}`]: 'slurm-sacct-cancelled.txt',
    [`sacct -j 8 -D -P -n -o ${fields}`]: {
      stdout: `8|steps|RUNNING|0:0|1794777907|Unknown|c1|
8.batch|batch|RUNNING|0:0|1794777907|Unknown|c1|1
8.0|true|COMPLETED|0:0|1794777908|1794777909|c1|1
8.1|sleep|TIMEOUT|0:0|1794777908|1794777913|c1|1
`,
    },
  });
  const refreshed = (more: Partial<Job>, steps = false) => {
    become(opened, { ...job, id: '4', end: 1794777995_000000, ...more });
    return refreshAndFile(opened, { run, steps });
  };
  const limit = await refreshed({ exit_code: 143 });
  assert.deepEqual([limit.state, limit.reason], ['timeout', 'time limit of 1 min 00 s reached']);
  assert.deepEqual([limit.end, limit.exit_code], [1794777995_000000, 143]);
  assert.deepEqual(
    limit.steps?.map(({ id }) => id),
    ['batch'],
  );
  assert.equal(openRecording(recording).job.state, 'timeout');
  const cancelled = await refreshed({
    ...{ id: '7', signal: 'SIGTERM', reason: 'ended by SIGTERM' },
    ...{ start: 1794777908_140000, end: 1794777908_640000 },
  });
  assert.deepEqual([cancelled.state, cancelled.reason], ['cancelled', 'cancelled by uid 5002']);
  assert.deepEqual(
    cancelled.steps?.map(({ id }) => id),
    ['batch', '0'],
  );
  // the job goes on: what the scheduler ended was a step of it, which the command had started
  const stepped = await refreshed({ id: '8', exit_code: 143, end: 1794777913_200000 });
  assert.deepEqual([stepped.state, stepped.reason], ['failed', 'step 1 reached its time limit']);
  const later = await refreshed({ id: '8', exit_code: 143, end: 1794777920_000000 });
  assert.equal(later.reason, undefined);
  // it was killed long before the job was
  assert.equal((await refreshed({ signal: 'SIGKILL', end: 1794777857_000000 })).state, 'failed');
  // its own failure stays its own, and the scheduler is not even asked unless the steps are wanted
  const before = asked.length;
  assert.equal((await refreshed({ exit_code: 3 })).steps, undefined);
  assert.equal(asked.length, before);
  const own = await refreshed({ exit_code: 3 }, true);
  assert.deepEqual([own.state, own.steps?.length], ['failed', 1]);
});

test('a command that ended well although a node of its job failed: the scheduler is asked, until the next run has begun', async (t) => {
  const { env, options } = machine(t);
  const { recording } = await startRecording(env, options);
  await stopRecording(env, undefined, silently);
  const opened = openRecording(recording);
  const own = opened.job;
  const first = `5|crash|NODE_FAIL|0:0|1794777907|1794777938|c[1,3]|
5.batch|batch|CANCELLED||1794777907|1794777938|c1|1
5.0|burn|NODE_FAIL|0:0|1794777908|1794777938|c[1,3]|2
`;
  const ran = { start: 1794777907_500000, end: 1794777938_400000, state: 'completed', exit_code: 0 } as const;
  const fields = 'JobID,JobName,State,ExitCode,Start,End,NodeList,NTasks,MaxRSS';
  const asked = (next: string) => {
    const { run } = answers({ [`sacct -j 5 -D -P -n -o ${fields}`]: { stdout: first + next } });
    return refreshAndFile(opened, { run });
  };
  // every agent has said its end: nobody has lost anything, and nobody is asked
  become(opened, { ...own, ...ran, id: '5', scheduler: 'slurm' });
  assert.equal((await asked('')).state, 'completed');

  // its agent came back with the node and could not say how the job had ended
  const reason = 'it ended while no agent was running on this node';
  become(opened, { ...own, ...ran, id: '5', scheduler: 'slurm', state: 'unknown', reason });
  const jobAfter = await asked('');
  assert.deepEqual([jobAfter.state, jobAfter.reason, jobAfter.end], ['node_fail', 'a node of the job failed', ran.end]);

  become(opened, { ...own, ...ran, id: '5', scheduler: 'slurm', nodes: [...own.nodes, 'c3'] });
  const failed = await asked('5|crash|PENDING|0:0|Unknown|Unknown|None assigned|\n');
  const why = 'a node of the job failed';
  assert.deepEqual(
    [failed.state, failed.reason, failed.end],
    ['node_fail', `${why}; put back into the queue by Slurm (restart 1)`, ran.end],
  );
  opened.job = openRecording(recording).job;
  assert.equal(opened.job.state, 'node_fail');

  const again = await asked('5|crash|COMPLETED|0:0|1794778060|1794778090|c1|\n');
  assert.deepEqual(
    [again.state, again.reason, again.waits],
    ['node_fail', `${why}; Slurm started it again (restart 1)`, undefined],
  );
  opened.job = openRecording(recording).job;
  assert.equal((await refreshAndFile(opened, answers({}))).reason, again.reason);

  // a node that failed long after the command had ended is none of its business
  become(opened, { ...own, ...ran, id: '5', scheduler: 'slurm', end: 1794777810_000000, nodes: [...own.nodes, 'c3'] });
  assert.equal((await asked('')).state, 'completed');
});

test('a registry that somebody else could write to is refused', (t) => {
  const { folder, env } = machine(t);
  fs.mkdirSync(path.join(folder, 'run/tacho'), { mode: 0o700 });
  fs.chmodSync(path.join(folder, 'run/tacho'), 0o777);
  assert.throws(() => needActive(env, ''), /others may write there/);
  fs.chmodSync(path.join(folder, 'run/tacho'), 0o700);
  assert.throws(() => needActive({ ...env, TACHO_RECORDING: folder }, ''), /which is no recording/);
});
