import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answers, planFor, recorded } from '../../../test/made/scheduler-answers.ts';
import type { Run } from './command.ts';
import { repeated, slurm, slurmBytes, slurmSeconds } from './slurm.ts';
import { accounted } from './slurm-ending.ts';

const ENVIRONMENT = {
  PATH: '/usr/bin',
  SLURM_CONF: '/etc/slurm/slurm.conf',
  SLURM_JOB_ID: '2',
  SLURM_CLUSTER_NAME: 'lab',
  SLURM_JOB_NAME: 'probe.sh',
  SLURM_JOB_USER: 'tacho-a',
  SLURM_JOB_ACCOUNT: 'lab',
  SLURM_JOB_PARTITION: 'main',
  SLURM_JOB_NODELIST: 'c[1-3]',
  SLURM_JOB_NUM_NODES: '3',
  SLURM_JOB_CPUS_PER_NODE: '4,1(x2)',
  SLURM_MEM_PER_CPU: '100',
  SLURM_NTASKS: '6',
  SLURM_SUBMIT_DIR: '/home/tacho-a',
};
const FIELDS = 'JobID,JobName,State,ExitCode,Start,End,NodeList,NTasks,MaxRSS';

/** Slurm's answers about one job. */
const about = (id: string, name: string): Record<string, string> => ({
  [`scontrol show job -d ${id}`]: `slurm-scontrol-${name}.txt`,
  [`scontrol show job ${id}`]: `slurm-scontrol-${name}.txt`,
  [`sacct -j ${id} -D -P -n -o ${FIELDS}`]: `slurm-sacct-${name}.txt`,
});

test('which job: array tasks by array and index', () => {
  assert.equal(slurm.detect(ENVIRONMENT), '2');
  assert.equal(slurm.detect({ SLURM_JOB_ID: '4714', SLURM_ARRAY_JOB_ID: '4711', SLURM_ARRAY_TASK_ID: '3' }), '4711_3');
  assert.equal(slurm.detect({}), undefined);
});

test('facts as scontrol shows them', async () => {
  const facts = await slurm.facts(answers(about('2', 'running')).run, ENVIRONMENT, () => assert.fail());
  assert.deepEqual(facts, {
    id: '2',
    restart: 0,
    cluster: 'lab',
    name: 'probe.sh',
    user: 'tacho-a',
    account: 'lab',
    partition: 'main',
    directory: '/home/tacho-a',
    nodes: ['c1', 'c2', 'c3'],
    asked: { nodes: 3, cpus: 6, memory_bytes: 600 * 2 ** 20, time_limit_seconds: 300 },
    per_node: {
      c1: { cpus: 4, memory_bytes: 400 * 2 ** 20 },
      c2: { cpus: 1, memory_bytes: 100 * 2 ** 20 },
      c3: { cpus: 1, memory_bytes: 100 * 2 ** 20 },
    },
    submit: 1794777530000000,
  });
});

test('a job with GPUs of two kinds, a name with spaces and a limit of days', async () => {
  const facts = await slurm.facts(answers(about('77', 'gpu')).run, { SLURM_JOB_ID: '77' }, () => assert.fail());
  assert.equal(facts.name, 'train model = big');
  assert.deepEqual(facts.nodes, ['gpu01', 'gpu02']);
  assert.deepEqual(facts.asked, { nodes: 2, cpus: 64, memory_bytes: 2 ** 40, gpus: 8, time_limit_seconds: 216_000 });
  assert.deepEqual(facts.per_node, {
    gpu01: { cpus: 32, memory_bytes: 2 ** 39, gpus: 6 },
    gpu02: { cpus: 32, memory_bytes: 2 ** 39, gpus: 2 },
  });
});

test('a Slurm that does not answer: the environment alone, and it is told', async () => {
  const messages: string[] = [];
  const facts = await slurm.facts(answers({}).run, ENVIRONMENT, (what, why) => messages.push(`${what}: ${why}`));
  assert.deepEqual(facts.asked, { nodes: 3, cpus: 6, memory_bytes: 600 * 2 ** 20 });
  assert.deepEqual(facts.per_node?.c1, { cpus: 4, memory_bytes: 400 * 2 ** 20 });
  assert.deepEqual(messages, ['what Slurm gave to the job: scontrol is not installed; the environment alone was used']);
  // 0 means all of the node, whatever that is
  const all = { ...ENVIRONMENT, SLURM_MEM_PER_CPU: undefined, SLURM_MEM_PER_NODE: '0' };
  assert.equal((await slurm.facts(answers({}).run, all, () => {})).asked.memory_bytes, undefined);
  const each = { ...ENVIRONMENT, SLURM_MEM_PER_CPU: undefined, SLURM_MEM_PER_NODE: '4000' };
  assert.equal((await slurm.facts(answers({}).run, each, () => {})).asked.memory_bytes, 12_000 * 2 ** 20);
});

test('one srun beside the job, without the options that were meant for the user', () => {
  const [launcher] = slurm.launch(planFor(['c1', 'c3'], { ...ENVIRONMENT, SRUN_CPUS_PER_TASK: '2' }), '2');
  const { command, args, env, nodes } = launcher!;
  assert.equal(command, 'srun');
  assert.deepEqual(nodes, ['c1', 'c3']);
  for (const option of [
    '--overlap',
    '--mem=0',
    '--cpu-bind=none',
    '--jobid=2',
    '--nodes=2',
    '--ntasks-per-node=1',
    '--nodelist=c1,c3',
  ]) {
    assert.ok(args.includes(option), option);
  }
  assert.equal(args.at(-1), 'everywhere $SLURMD_NODENAME');
  assert.deepEqual(env, { PATH: '/usr/bin', SLURM_CONF: '/etc/slurm/slurm.conf' });
});

test("stop signals the agents' step", async () => {
  const { run, asked } = answers({ 'scancel --signal=TERM 4711_3.0': { stdout: '' } });
  assert.equal(await slurm.stop(run, '4711_3', '0'), 'agents');
  assert.deepEqual(asked, ['scancel --signal=TERM 4711_3.0']);
  assert.equal(await slurm.stop(run, '4711_3', undefined), 'ask on the nodes');
  assert.equal(await slurm.stop(answers({}).run, '4711_3', '0'), 'ask on the nodes');
  // one node's agent has gone before: scancel complains, but the others were signalled
  const partly = { stdout: '', trouble: 'scancel failed (exit 225): scancel: error: Invalid job id specified' };
  assert.equal(await slurm.stop(answers({ 'scancel --signal=TERM 7.0': partly }).run, '7', '0'), 'agents');
});

test('how jobs ended', async () => {
  const ended = async (id: string, name: string, start = 1794777907_300000) =>
    slurm.state(answers({ ...about(id, name), 'id -un 5002': { stdout: 'tacho-b\n' } }).run, { id, start }, () => {});
  const batch = { id: 'batch', name: 'batch', start: 1794777907000000, nodes: ['c3'], tasks: 1 };

  const limit = await ended('4', 'timeout');
  assert.equal(limit?.state, 'timeout');
  assert.equal(limit?.reason, 'time limit of 1 min 00 s reached');
  assert.equal(limit?.end, 1794777996000000);
  assert.equal(limit?.signal, 'SIGTERM');

  const cancelled = await ended('7', 'cancelled');
  assert.equal(cancelled?.state, 'cancelled');
  assert.equal(cancelled?.reason, 'cancelled by tacho-b');
  assert.equal(cancelled?.exit_code, undefined);
  assert.deepEqual(cancelled?.steps, [
    { ...batch, end: 1794777908000000, state: 'cancelled' },
    { ...batch, id: '0', name: 'sleep', end: 1794777908000000, state: 'cancelled' },
  ]);

  const failed = await ended('8', 'failed');
  assert.equal(failed?.state, 'failed');
  assert.equal(failed?.exit_code, 3);

  const crashed = await ended('6', 'node-fail');
  assert.equal(crashed?.state, 'node_fail');
  assert.equal(crashed?.reason, 'a node of the job failed');

  // the id waits for its next run: only the accounting knows how the first run ended
  const again = await ended('5', 'requeued');
  assert.equal(again?.state, 'node_fail');
  assert.equal(again?.end, 1794777938000000);
  assert.equal(again?.reason, 'a node of the job failed; put back into the queue by Slurm (restart 1)');

  const array = await ended('10_3', 'array');
  assert.equal(array?.state, 'completed');
  assert.equal(array?.exit_code, 0);

  const running = await ended('2', 'running', 1794777531_500000);
  assert.equal(running?.state, 'running');
  // neither slurmd's step nor Tacho's
  assert.deepEqual(
    running?.steps?.map(({ id, state, end }) => [id, state, end]),
    [
      ['batch', 'running', undefined],
      ['1', 'completed', 1794777533000000],
    ],
  );
});

test('a job that lost a node and went on (--no-kill) ended as its last line says', async () => {
  const sacct = {
    stdout: `21|crash|RESIZING|0:0|1794777907|1794777950|c[3-4]|
21.batch|batch|COMPLETED|0:0|1794777907|1794777990|c3|1
21|crash|COMPLETED|0:0|1794777950|1794777990|c3|
21.0|sleep|COMPLETED|0:0|1794777951|1794777980|c3|1
`,
  };
  const { run } = answers({ [`sacct -j 21 -D -P -n -o ${FIELDS}`]: sacct });
  const ending = await slurm.state(run, { id: '21', start: 1794777908_000000 }, () => {});
  assert.deepEqual([ending?.state, ending?.exit_code, ending?.end], ['completed', 0, 1794777990_000000]);
  assert.deepEqual(ending?.taken_nodes, { c4: 1794777950_000000 });
  assert.deepEqual(
    ending?.steps?.map(({ id }) => id),
    ['batch', '0'],
  );
});

test('that memory ran out is no signal, though Slurm writes it as one', async () => {
  const sacct = {
    stdout: `22|fill|OUT_OF_MEMORY|0:125|1794777907|1794777950|c1|
22.1|fill|OUT_OF_MEMORY|0:125|1794777908|1794777940|c1|1
`,
  };
  const { run } = answers({ [`sacct -j 22 -D -P -n -o ${FIELDS}`]: sacct });
  const ending = await slurm.state(run, { id: '22', start: 1794777908_000000 }, () => {});
  assert.deepEqual([ending?.state, ending?.signal, ending?.exit_code], ['out_of_memory', undefined, undefined]);
  assert.equal(ending?.reason, 'memory ran out, and the kernel killed a process in it');
});

test('a job that Slurm has forgotten, and a Slurm without accounting', async () => {
  const messages: string[] = [];
  const collect = (what: string, why: string): void => void messages.push(`${what}: ${why}`);
  assert.equal(await slurm.state(answers({}).run, { id: '9', start: 0 }, collect), undefined);
  assert.deepEqual(messages, ['how the job ended: scontrol is not installed']);
  const without = { 'scontrol show job 4': 'slurm-scontrol-timeout.txt' };
  assert.equal((await slurm.state(answers(without).run, { id: '4', start: 0 }, collect))?.state, 'timeout');
  const again = { 'scontrol show job 5': 'slurm-scontrol-requeued.txt' };
  assert.equal((await slurm.state(answers(again).run, { id: '5', start: 0 }, collect))?.state, 'unknown');
});

test('sizes, limits and repeated numbers as Slurm writes them', () => {
  assert.equal(slurmBytes('4000M'), 4000 * 2 ** 20);
  assert.equal(slurmBytes('1.50G'), 1536 * 2 ** 20);
  assert.equal(slurmBytes('200'), 200 * 2 ** 20);
  assert.equal(slurmBytes('0'), undefined);
  assert.equal(slurmSeconds('1-02:03:04'), 93_784);
  assert.equal(slurmSeconds('02:03:04'), 7384);
  assert.equal(slurmSeconds('03:04'), 184);
  assert.equal(slurmSeconds('5'), 300);
  assert.equal(slurmSeconds('UNLIMITED'), undefined);
  assert.deepEqual(repeated('4(x2),2'), [4, 4, 2]);
});

const HET = {
  SLURM_JOB_ID: '3',
  SLURM_HET_SIZE: '2',
  SLURM_JOB_NODELIST: 'c1',
  SLURM_JOB_NODELIST_HET_GROUP_0: 'c1',
  SLURM_JOB_NODELIST_HET_GROUP_1: 'c[2-3]',
  SLURM_JOB_NUM_NODES_HET_GROUP_0: '1',
  SLURM_JOB_NUM_NODES_HET_GROUP_1: '2',
  SLURM_JOB_CPUS_PER_NODE_HET_GROUP_0: '1',
  SLURM_JOB_CPUS_PER_NODE_HET_GROUP_1: '2(x2)',
  SLURM_MEM_PER_CPU_HET_GROUP_0: '100',
  SLURM_MEM_PER_CPU_HET_GROUP_1: '100',
};

test('a heterogeneous job is all of its components', async () => {
  const silent: Run = () => Promise.resolve({ stdout: '', trouble: 'not here' });
  const facts = await slurm.facts(silent, HET, () => {});
  assert.deepEqual(facts.nodes, ['c1', 'c2', 'c3']);
  assert.deepEqual(facts.asked, { nodes: 3, cpus: 5, memory_bytes: 500 * 1024 * 1024 });
  assert.deepEqual(facts.per_node?.c3, { cpus: 2, memory_bytes: 200 * 1024 * 1024 });
  const plan = { nodes: facts.nodes, jobNodes: facts.nodes, on: () => [], everywhere: () => ['agent'], env: HET };
  const launched = slurm.launch(plan, '3');
  assert.deepEqual(
    launched.map(({ nodes }) => nodes),
    [['c1'], ['c2', 'c3']],
  );
  assert.deepEqual(launched[1]!.args.slice(0, 2), ['--jobid=3', '--het-group=1']);
  assert.ok(launched[1]!.args.includes('--nodelist=c2,c3'));
});

test('a run that was put back into the queue is told apart from the next one', () => {
  const lines = ['7|rq|REQUEUED|0:0|1700000000|1700000008|c1|', '7|rq|COMPLETED|0:0|1700000130|1700000133|c1|'].join(
    '\n',
  );
  assert.deepEqual(accounted(lines, 1700000001e6)?.ending, {
    state: 'cancelled',
    end: 1700000008e6,
    reason: 'put back into the queue',
  });
});

test('a job that was put back into the queue is said to be started again only when it is', async () => {
  const first = '7|rq|REQUEUED|0:0|1700000000|1700000008|c1|\n';
  const reason = async (state: string, nodes: string): Promise<string | undefined> => {
    const shown = {
      stdout: `JobId=7 JobName=rq\n   JobState=${state} Reason=None\n   Restarts=1\n   NodeList=${nodes}\n`,
    };
    const sacct = { stdout: first };
    const { run } = answers({ 'scontrol show job 7': shown, [`sacct -j 7 -D -P -n -o ${FIELDS}`]: sacct });
    return (await slurm.state(run, { id: '7', start: 1700000001e6 }, () => {}))?.reason;
  };
  assert.equal(await reason('PENDING', ''), 'put back into the queue by Slurm (restart 1)');
  assert.equal(await reason('CANCELLED', '(null)'), 'put back into the queue by Slurm (restart 1)');
  assert.equal(await reason('RUNNING', 'c1'), 'put back into the queue; Slurm started it again (restart 1)');
  assert.equal(await reason('COMPLETED', 'c1'), 'put back into the queue; Slurm started it again (restart 1)');
});

test('what became of a requeued job is known from the accounting alone, too', async () => {
  const first = '7|rq|NODE_FAIL|0:0|1700000000|1700000008|c1|\n';
  const asked = async (lines: string) => {
    const { run } = answers({ [`sacct -j 7 -D -P -n -o ${FIELDS}`]: { stdout: lines } });
    const { reason, waits } = (await slurm.state(run, { id: '7', start: 1700000001e6 }, () => {}))!;
    return [reason, waits];
  };
  const failed = 'a node of the job failed';
  assert.deepEqual(await asked(first), [failed, undefined]);
  assert.deepEqual(await asked(`${first}7|rq|PENDING|0:0|Unknown|Unknown|None assigned|\n`), [
    `${failed}; put back into the queue by Slurm (restart 1)`,
    true,
  ]);
  assert.deepEqual(await asked(`${first}7|rq|COMPLETED|0:0|1700000130|1700000133|c1|\n`), [
    `${failed}; Slurm started it again (restart 1)`,
    undefined,
  ]);
  // ids begin again some day: this one is somebody else's
  const other = '7|old|COMPLETED|0:0|1700000000|1700000008|c1|\n7|new|COMPLETED|0:0|1790000130|1790000133|c1|\n';
  assert.deepEqual(await asked(other), [undefined, undefined]);
});

test('a component of a heterogeneous job, as the agent of a node sees it, is a job of its own that says which it is', async () => {
  const all = recorded('slurm-scontrol-het.txt');
  const own = all.slice(all.indexOf('JobId=11'));
  const { run } = answers({
    'scontrol show job -d 10': { stdout: all },
    'scontrol show job -d 11': { stdout: own },
  });
  const of = async (id: string) => {
    const { het, nodes, per_node } = await slurm.facts(run, { SLURM_JOB_ID: id, SLURM_HET_JOB_ID: '10' }, () => {});
    return [het, nodes, Object.keys(per_node ?? {})];
  };
  assert.deepEqual(await of('10'), [{ job: '10', component: '0' }, ['c1'], ['c1']]);
  assert.deepEqual(await of('11'), [{ job: '10', component: '1' }, ['c2'], ['c2']]);
});
