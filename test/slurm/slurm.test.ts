import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { agentRecord } from '../../src/control/launch.ts';
import { openRecording } from '../../src/recording/folder/open.ts';
import { readTable } from '../../src/recording/read/read.ts';
import { eventually } from '../made/eventually.ts';
import { type Lab, read, readJob, sharedLab, type User, whyNot } from './lab.ts';

const skip = whyNot();
let lab: Lab;
const NODES = ['c1', 'c2', 'c3'];

/** The commands that a recording has seen on a node. */
function commands(recording: string, node: string): string[] {
  const nodeRecording = openRecording(recording).nodes.find(({ name }) => name === node);
  if (nodeRecording === undefined) return [];
  const { texts } = readTable(nodeRecording, 'process', { columns: ['command'] });
  return texts.get('command')?.values ?? [];
}

const recorded = (recording: string): string[] => openRecording(recording).nodes.map(({ name }) => name);

/** Shell: lasts until the agent of this node has recorded a process whose command is of this pattern. */
const UNTIL_SEEN = (pattern: string): string =>
  `until grep -qs "${pattern}" tacho-$SLURM_JOB_ID/node=$SLURMD_NODENAME/process.csv`;

/** Shell: lasts until the agents of these nodes have written three samples more than now. */
const LIVE = (recording: string, ...nodes: string[]): string =>
  nodes
    .map((node) => `${recording}/node=${node}/loadavg.csv`)
    .map((file) => `now=$(wc -l <${file}); until [ $(wc -l <${file}) -ge $((now + 3)) ]; do sleep 0.2; done`)
    .join('; ');

async function report(user: User, recording: string): Promise<string> {
  const { code, stdout, stderr } = await lab.on('login', user, 'tacho', 'report', recording);
  assert.equal(code, 0, stderr);
  return stdout;
}

describe('on a real Slurm', { skip, concurrency: true }, () => {
  before(async () => {
    lab = sharedLab();
    // two nodes that jobs have only by name: they vanish
    await lab.on('login', 'root', 'scontrol', 'update', 'PartitionName=main', `Nodes=${NODES.join(',')}`);
  });
  after(async () => {
    const remaining = async (): Promise<string[]> => {
      const all: string[] = [];
      for (const node of ['login', ...NODES]) {
        for (const user of ['tacho-a', 'tacho-b', 'tacho-c'] as const) all.push(...(await lab.processes(node, user)));
      }
      return all;
    };
    // what Slurm has ended needs a moment to go
    let left: string[] = [];
    await eventually(
      () => `the end of ${left.join(', ')}`,
      async () => {
        left = await remaining();
        return left.length === 0;
      },
    );
  });

  for (const user of ['tacho-a', 'tacho-b', 'tacho-c'] as const satisfies User[]) {
    test(`sbatch of ${user}: start, a step, stop, report card in the job's output`, async () => {
      const workFolder = await lab.workFolder(user, 'batch');
      const script = `set -e
        export OMP_NUM_THREADS=3 MY_SECRET=hush
        tacho start --interval 0.5 --tag case:${user}
        tacho mark begin work
        srun -N3 -n3 sh -c '${UNTIL_SEEN(`[b]y-${user}`)}; do sleep 0.2; : by-${user}; done'
        tacho fom speed=42.5
        tacho mark end
        tacho stop`;
      const id = await lab.submit(user, workFolder, script, '-N3', '-n3', '-t5');
      assert.equal(await lab.ended(id), 'COMPLETED', read(workFolder, 'out'));
      const recording = path.join(workFolder, `tacho-${id}`);
      const job = readJob(recording);
      assert.deepEqual(
        [job.id, job.user, job.scheduler, job.cluster, job.partition, job.account, job.nodes, job.tags],
        [id, user, 'slurm', 'lab', 'main', 'lab', NODES, { case: user }],
      );
      assert.deepEqual(job.asked, { nodes: 3, cpus: 3, memory_bytes: 300 * 2 ** 20, time_limit_seconds: 300 });
      assert.deepEqual(job.per_node?.c2, { cpus: 1, memory_bytes: 100 * 2 ** 20 });
      assert.equal(job.environment.OMP_NUM_THREADS, '3');
      assert.ok(!JSON.stringify(job).includes('hush'));
      // the user's step, not the one of the agents
      assert.deepEqual(
        job.steps?.map(({ name, state, nodes }) => [name, state, nodes]),
        [
          ['batch', 'running', ['c1']],
          ['sh', 'completed', NODES],
        ],
      );
      assert.deepEqual(recorded(recording), NODES);
      assert.equal(fs.statSync(recording).mode & 0o777, 0o700);
      for (const node of NODES) {
        assert.equal(agentRecord(recording, node)?.end_reason, 'SIGTERM');
        assert.ok(
          commands(recording, node).some((command) => command.includes(`: by-${user}`)),
          node,
        );
        assert.ok(fs.existsSync(path.join(recording, `node=${node}`, 'meminfo.csv.zst')), 'it is sealed');
      }
      const out = read(workFolder, 'out');
      assert.match(out, /recording 3 nodes every 0.5 s/);
      assert.match(out, new RegExp(`${user}.*3 nodes \\(c\\[1-3\\]\\), 3 CPUs`));
      assert.match(out, /work .*s/);
      assert.match(out, /speed +42.5/);
    });
  }

  test('tacho run -- srun around a program on three nodes, in an srun allocation', async () => {
    const workFolder = await lab.workFolder('tacho-b', 'run');
    const command = `cd ${workFolder} && tacho run --interval 0.5 -- srun -N3 --ntasks-per-node=1 sh -c 'echo from $SLURMD_NODENAME; ${UNTIL_SEEN('[s]leep 1.2')}; do sleep 1.2; done; exit 3'`;
    const { code, stdout, stderr } = await lab.salloc('tacho-b', command);
    assert.equal(code, 3, stderr);
    assert.deepEqual(stdout.trim().split('\n').sort(), ['from c1', 'from c2', 'from c3']);
    const [name] = fs.readdirSync(workFolder).filter((each) => each.startsWith('tacho-'));
    const recording = path.join(workFolder, name!);
    assert.deepEqual(recorded(recording), NODES);
    const job = readJob(recording);
    assert.deepEqual([job.state, job.exit_code, job.command?.[0]], ['failed', 3, 'srun']);
    for (const node of NODES)
      assert.ok(
        commands(recording, node).some((each) => each.includes('sleep 1.2')),
        node,
      );
    assert.match(stderr, /exit(ed| code| status)?.*3/);
  });

  test('tasks of an array are recorded apart', async () => {
    const workFolder = await lab.workFolder('tacho-a', 'array');
    const script = 'tacho start --interval 0.5 && sleep 1 && tacho stop --no-report';
    const id = await lab.submit('tacho-a', workFolder, script, '-N1', '-t5', '--array=3-4');
    for (const task of [3, 4]) {
      assert.equal(await lab.ended(`${id}_${task}`), 'COMPLETED', read(workFolder, 'out'));
      const recording = path.join(workFolder, `tacho-${id}_${task}`);
      assert.equal(readJob(recording).id, `${id}_${task}`);
      assert.equal(readJob(recording).environment.SLURM_ARRAY_TASK_ID, String(task));
      assert.equal(recorded(recording).length, 1);
    }
  });

  test('tasks and steps of one task record themselves alone; a job submitted from such a step is whole', async () => {
    const workFolder = await lab.workFolder('tacho-c', 'steps');
    const inner = path.join(workFolder, 'inner.sh');
    fs.writeFileSync(inner, '#!/bin/sh\ntacho run --no-report -o inner -- srun -N2 -n2 true\n', { mode: 0o755 });
    const script = `for i in 1 2; do srun -n1 -N1 --exact tacho run --no-report -- true & done; wait
      srun -n2 -N2 tacho run --no-report -o task -- true
      tacho run --no-report -o whole -- srun -N2 -n2 true
      srun -n1 -N1 --exact sbatch --wait -Q -N2 -n2 -t5 --output=inner.out ${inner}`;
    const id = await lab.submit('tacho-c', workFolder, script, '-N2', '-n2', '-t10');
    assert.equal(await lab.ended(id), 'COMPLETED', read(workFolder, 'out'));
    const output = read(workFolder, 'out');
    const steps = fs.readdirSync(workFolder).filter((name) => name.startsWith('tacho-'));
    assert.deepEqual(steps, [`tacho-${id}-step0`, `tacho-${id}-step1`], output);
    for (const [name, own] of [
      [steps[0]!, `${id}.0`],
      [steps[1]!, `${id}.1`],
      ['task-task0', `${id}.2.0`],
      ['task-task1', `${id}.2.1`],
    ] as const) {
      const job = readJob(path.join(workFolder, name));
      assert.deepEqual(
        [job.id, job.asked, recorded(path.join(workFolder, name))],
        [own, { cpus: 1, memory_bytes: 100 * 2 ** 20 }, job.nodes],
        output,
      );
      assert.equal(job.nodes.length, 1);
    }
    for (const name of ['whole', 'inner']) {
      const job = readJob(path.join(workFolder, name));
      assert.equal(job.id === id, name === 'whole', job.id);
      assert.equal(job.asked.nodes, 2);
      assert.deepEqual(recorded(path.join(workFolder, name)), job.nodes, output);
    }
  });

  test('two jobs at once on one node stay apart', async () => {
    const script = (name: string): string =>
      `tacho start --interval 0.3; ${UNTIL_SEEN(`[o]${name.slice(1)}`)}; do (exec -a ${name} sleep 2); done; tacho stop --no-report`;
    const users = ['tacho-b', 'tacho-c'] as const;
    const jobs = await Promise.all(
      users.map(async (user) => {
        const workFolder = await lab.workFolder(user, 'shared');
        return {
          user,
          workFolder,
          id: await lab.submit(user, workFolder, script(`only-${user}`), '-N1', '-w', 'c2', '-t5'),
        };
      }),
    );
    for (const { user, workFolder, id } of jobs) {
      assert.equal(await lab.ended(id), 'COMPLETED', read(workFolder, 'out'));
      const recordedCommands = commands(path.join(workFolder, `tacho-${id}`), 'c2').filter((command) =>
        command.startsWith('only-'),
      );
      assert.deepEqual(recordedCommands, [`only-${user} 2`]);
    }
  });

  test('the job has the exit status of its last command, with and without a recording', async () => {
    const fails = `srun bash -c 'exit 9'`;
    for (const [name, start] of [
      ['kept', 'tacho start'],
      ['kept-unrecorded', 'set -e; tacho start -o /proc/none'],
    ] as const) {
      const workFolder = await lab.workFolder('tacho-b', name);
      const id = await lab.submit('tacho-b', workFolder, `${start}\ntrap 'tacho stop' EXIT\n${fails}`, '-N1', '-t5');
      assert.equal(await lab.ended(id), 'FAILED', read(workFolder, 'out'));
      const shown = await lab.on('login', 'tacho-b', 'scontrol', 'show', 'job', id);
      assert.match(shown.stdout, /ExitCode=9:0/, read(workFolder, 'out'));
      assert.match(read(workFolder, 'out'), name === 'kept' ? /^Quality/m : /start: cannot write \/proc\/none/);
    }
  });

  test('a second start does nothing and names the recording; stop without start says what to do', async () => {
    const workFolder = await lab.workFolder('tacho-a', 'twice');
    const script = `tacho stop; echo "stop: $?"; tacho start; tacho start; echo "start: $?"; tacho status; tacho stop --no-report; tacho mark end; echo "mark: $?"`;
    const id = await lab.submit('tacho-a', workFolder, script, '-N1', '-t5');
    await lab.ended(id);
    const out = read(workFolder, 'out');
    assert.match(out, /nothing is being recorded in this job.*tacho start begins a recording\S*.*\nstop: 0/);
    assert.match(out, new RegExp(`this job is being recorded already, in ${workFolder}/tacho-${id};.*\nstart: 0`));
    assert.match(out, /c\d +recording/);
    assert.match(out, /mark: 0/);
  });

  test('scancel: what was written is there, and the report says who ended it', async () => {
    const workFolder = await lab.workFolder('tacho-c', 'cancelled');
    const id = await lab.submit(
      'tacho-c',
      workFolder,
      'tacho start --interval 0.5; srun -N2 -n2 sleep 600',
      '-N2',
      '-t5',
    );
    const recording = path.join(workFolder, `tacho-${id}`);
    await eventually('the recording', () => read(workFolder, 'out').includes('recording 2 nodes'));
    await lab.on('login', 'tacho-c', 'scancel', id);
    assert.equal(await lab.ended(id), 'CANCELLED');
    assert.equal(readJob(recording).end, undefined);
    for (const node of readJob(recording).nodes)
      await eventually('the end of the agent', () => agentRecord(recording, node)?.end);
    const stdout = await report('tacho-c', recording);
    assert.match(stdout, /CANCELLED/);
    assert.match(stdout, /cancelled by tacho-c/);
    // reading changes nothing; sealing files what the scheduler said
    assert.equal(readJob(recording).end, undefined);
    assert.equal((await lab.on('login', 'tacho-c', 'tacho', 'seal', recording)).code, 0);
    assert.equal(readJob(recording).state, 'cancelled');
  });

  test('scancel of a job with tacho run: the report says who ended it, and knows its steps', async () => {
    const workFolder = await lab.workFolder('tacho-b', 'run-cancelled');
    const script = 'tacho run --interval 0.5 -- srun -N2 -n2 sleep 600';
    const id = await lab.submit('tacho-b', workFolder, script, '-N2', '-n2', '-w', 'c1,c2', '-t5');
    const recording = path.join(workFolder, `tacho-${id}`);
    const isSampled = (): boolean =>
      fs.existsSync(path.join(recording, 'node=c2')) &&
      commands(recording, 'c2').some((each) => each.includes('sleep'));
    await eventually('the recording', isSampled);
    await lab.on('login', 'tacho-b', 'scancel', id);
    assert.equal(await lab.ended(id), 'CANCELLED');
    assert.match(await report('tacho-b', recording), /CANCELLED/);
    const job = readJob(recording);
    assert.deepEqual([job.state, job.reason], ['cancelled', 'cancelled by tacho-b']);
    assert.ok(
      job.steps?.some(({ name }) => name === 'sleep'),
      JSON.stringify(job),
    );
  });

  test('mark on another node finds a recording that -o put elsewhere; nothing of Tacho is in the job', async () => {
    const workFolder = await lab.workFolder('tacho-c', 'elsewhere');
    const script = `tacho start --interval 0.3 -o ${workFolder}/deep/r
      cd /; srun -N1 -n1 -w c3 sh -c 'tacho mark begin far; sleep 1; tacho mark end'; echo "mark: $?"; tacho stop --no-report`;
    const id = await lab.submit('tacho-c', workFolder, script, '-N2', '-n2', '-w', 'c2,c3', '-t5');
    assert.equal(await lab.ended(id), 'COMPLETED', read(workFolder, 'out'));
    assert.match(read(workFolder, 'out'), /mark: 0/);
    const recording = path.join(workFolder, 'deep/r');
    for (const node of ['c2', 'c3']) {
      const own = commands(recording, node).filter((each) => /slurmstepd|scancel|main\.ts/.test(each));
      assert.deepEqual(own, [], node);
    }
  });

  test('the time limit: the report names it', async () => {
    const workFolder = await lab.workFolder('tacho-b', 'limit');
    const id = await lab.submit('tacho-b', workFolder, 'tacho start --interval 1; sleep 600', '-N1', '-t1');
    assert.equal(await lab.ended(id), 'TIMEOUT');
    const recording = path.join(workFolder, `tacho-${id}`);
    const [node] = readJob(recording).nodes;
    await eventually('the end of the agent', () => agentRecord(recording, node!)?.end);
    const stdout = await report('tacho-b', recording);
    assert.match(stdout, /TIME ?OUT/i);
    assert.match(stdout, /time limit of 1 min 00 s reached/);
  });

  test('a node vanishes: what it wrote is there, and the report says when it stopped', async () => {
    const workFolder = await lab.workFolder('tacho-a', 'crash');
    const id = await lab.submit(
      'tacho-a',
      workFolder,
      'tacho start --interval 0.5; sleep 600',
      '-p',
      'all',
      '-N2',
      '-w',
      'c1,c4',
      '--no-requeue',
      '-t5',
    );
    const recording = path.join(workFolder, `tacho-${id}`);
    await eventually('the recording', () => read(workFolder, 'out').includes('recording 2 nodes'));
    await eventually('some samples', () => read(recording, 'node=c4/loadavg.csv').split('\n').length > 4);
    lab.crash('c4');
    assert.equal(await lab.ended(id), 'NODE_FAIL');
    await eventually('the end of the other agent', () => agentRecord(recording, 'c1')?.end);
    assert.equal(agentRecord(recording, 'c4')?.end, undefined);
    const stdout = await report('tacho-a', recording);
    assert.match(stdout, /a node of the job failed/);
    assert.match(stdout, /c4/);
    const node = openRecording(recording).nodes.find(({ name }) => name === 'c4')!;
    assert.ok(readTable(node, 'loadavg').rows >= 3);
  });

  test('kill -9 of an agent: stop names its node, keeps what it wrote, and the others are whole', async () => {
    const workFolder = await lab.workFolder('tacho-b', 'killed');
    const script = `tacho start --interval 0.3
      until [ $(wc -l <tacho-$SLURM_JOB_ID/node=c2/loadavg.csv) -gt 3 ]; do sleep 0.2; done
      pid=$(sed -n 's/^ "pid": \\([0-9]*\\),$/\\1/p' tacho-$SLURM_JOB_ID/node=c2/agent.json)
      srun --overlap -N1 -n1 -w c2 bash -c "kill -9 $pid"
      until tacho status >now; code=$?; grep -q 'c2 *silent' now && grep -q 'c3 *recording' now; do sleep 0.5; done
      cat now; echo "status: $code"; tacho stop; echo "stop: $?"`;
    const id = await lab.submit('tacho-b', workFolder, script, '-N2', '-n2', '-w', 'c2,c3', '-t5');
    assert.equal(await lab.ended(id), 'COMPLETED', read(workFolder, 'out'));
    const out = read(workFolder, 'out');
    assert.match(out, /the agents on c2 did not confirm their end: what they wrote is kept/);
    assert.match(out, /c2 +silent(.*\n)+.*c3 +recording(.*\n)+status: 1/);
    assert.match(out, /stop: 0/);
    const recording = path.join(workFolder, `tacho-${id}`);
    assert.equal(agentRecord(recording, 'c2')?.end, undefined);
    assert.equal(agentRecord(recording, 'c3')?.end_reason, 'SIGTERM');
    const [c2, c3] = openRecording(recording).nodes;
    const times = [readTable(c2!, 'loadavg').time, readTable(c3!, 'loadavg').time];
    assert.ok(times[0]!.length >= 3, `${times[0]!.length} samples on c2`);
    // c3 began when it could, but went on after c2 was silent, and missed no tick that it has not counted
    assert.ok(times[1]!.at(-1)! > times[0]!.at(-1)!, `${times.map((each) => each.at(-1))}`);
    const missed = Number(agentRecord(recording, 'c3')?.missed_ticks ?? 0);
    const span = (times[1]!.at(-1)! - times[1]![0]!) / 300_000;
    assert.ok(times[1]!.length + missed >= Math.floor(span), `${times[1]!.length} and ${missed} of ${span}`);
  });

  test('a node that cannot record is named; --allow-missing goes on without it', async () => {
    const workFolder = await lab.workFolder('tacho-c', 'missing');
    // /tmp is each node's own: only the first node sees the recording there
    const script = `tacho start --strict -o /tmp/strict-$SLURM_JOB_ID --timeout 60s; echo "strict: $?"
      tacho start -o /tmp/allowed-$SLURM_JOB_ID --timeout 60s --allow-missing 1; echo "allowed: $?"
      tacho status; tacho stop; echo "stop: $?"`;
    const id = await lab.submit('tacho-c', workFolder, script, '-N2', '-n2', '-w', 'c2,c3', '-t5');
    await lab.ended(id);
    const out = read(workFolder, 'out');
    // srun has a word of its own for it, sooner or later: that is not told
    assert.match(
      out,
      /1 of 2 nodes did not begin to record: c3\n.*c3: there is no \/tmp\/strict-\d+ here.*\n.*--allow-missing 1.*\nstrict: 1/,
    );
    assert.match(
      out,
      /c3 does not record\n.*there is no .*\n.*recording 1 node every 1 s in \/tmp\/allowed-\d+ .*\nallowed: 0/,
    );
    assert.match(out, /c2 +recording(.*\n)+.*c3 +missing/);
    assert.match(out, /c3 was never recorded/);
    assert.match(out, /stop: 0/);
  });

  test('a node that Slurm cannot reach and has not given up takes no other agent along, nor does one that vanishes later', async () => {
    const workFolder = await lab.workFolder('tacho-a', 'unreached');
    const script = `until [ -e cut ]; do sleep 0.1; done
      tacho start --strict -o strict --timeout 120s; echo "strict: $?"
      tacho start -o allowed --interval 0.5 --timeout 120s --allow-missing 1; echo "allowed: $?"
      ${LIVE('allowed', 'c2', 'c3')}; tacho stop --no-report
      tacho run --no-report -o run --timeout 120s -- srun --overlap -N2 -n2 -w c2,c3 true; echo "run: $?"
      touch tried; until [ -e mended ]; do sleep 0.1; done
      tacho start -o later --interval 0.5 --timeout 120s; echo "later: $?"
      until [ -e crashed ]; do sleep 0.1; done
      ${LIVE('later', 'c2', 'c3')}; echo "the others go on"`;
    await lab.submit('tacho-a', workFolder, script, '-p', 'all', '-N3', '-w', 'c2,c3,c5', '--no-kill', '-t5');
    const untilPrinted = (what: string) => eventually(what, () => read(workFolder, 'out').includes(what));
    await eventually('the job', () => fs.existsSync(path.join(workFolder, 'out')));
    const route = (verb: string) => lab.on('c2', 'root', 'ip', 'route', verb, 'unreachable', lab.address('c5'));
    assert.equal((await route('add')).stderr, '');
    fs.writeFileSync(path.join(workFolder, 'cut'), '');
    await eventually('what is tried without c5', () => fs.existsSync(path.join(workFolder, 'tried')));
    assert.equal((await route('del')).stderr, '');
    fs.writeFileSync(path.join(workFolder, 'mended'), '');
    await untilPrinted('later: ');
    lab.crash('c5');
    fs.writeFileSync(path.join(workFolder, 'crashed'), '');
    await untilPrinted('the others go on');
    const out = read(workFolder, 'out');
    assert.match(
      out,
      /1 of 3 nodes did not begin to record: c5\n.*failed on node c5: .*\n.*--allow-missing 1.*\nstrict: 1/,
    );
    assert.match(out, /c5 does not record\n.*failed on node c5: .*\n.*recording 2 nodes every 0.5 s.*\nallowed: 0/);
    assert.match(out, /node c5 is not recorded: .*failed on node c5: .*\n(.*\n)*run: 0/);
    assert.match(out, /recording 3 nodes every 0.5 s.*\nlater: 0/);
    for (const name of ['allowed', 'run'])
      for (const node of ['c2', 'c3']) {
        assert.equal(agentRecord(path.join(workFolder, name), node)?.end_reason, 'SIGTERM', `${name} ${node}`);
      }
    assert.deepEqual(Object.keys(readJob(path.join(workFolder, 'allowed')).not_recorded ?? {}), ['c5']);
  });
});
