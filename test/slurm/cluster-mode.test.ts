import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { after, before, describe, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { agentRecord } from '../../src/control/launch.ts';
import { openRecording } from '../../src/recording/folder/open.ts';
import { readTable } from '../../src/recording/read/read.ts';
import type { NodeLine } from '../../src/sinks/hub/protocol.ts';
import { eventually } from '../made/eventually.ts';
import { Lab, read, readJob, type User, whyNot } from './lab.ts';

const skip = whyNot();
const lab = new Lab();
const USERS = ['tacho-a', 'tacho-b', 'tacho-c'] as const satisfies User[];
const NODES = ['c1', 'c2', 'c3', 'c4'];
const HUB = ['login:8471', '--trust', 'munge'];

const nodeOf = (recording: string, node: string) => openRecording(recording).nodes.find(({ name }) => name === node)!;
/** When the samples of a node were taken, epoch microseconds. */
const samples = (recording: string, node: string): number[] => [...readTable(nodeOf(recording, node), 'loadavg').time];
const commands = (recording: string, node: string): string[] =>
  readTable(nodeOf(recording, node), 'process', { columns: ['command'] }).texts.get('command')?.values ?? [];

/** Every row of every table of a node, each as one text. */
function tablesIn(recording: string, node: string): Map<string, string[]> {
  const nodeRecording = nodeOf(recording, node);
  return new Map(
    [...nodeRecording.tables.keys()].map((name) => {
      const { rows, time, numbers, texts } = readTable(nodeRecording, name);
      const row = (at: number): string =>
        [
          time[at],
          ...[...numbers].map(([column, values]) => `${column}=${values[at]}`),
          ...[...texts].map(([column, { codes, values }]) => `${column}=${values[codes[at]!]}`),
        ].join(' ');
      return [name, Array.from({ length: rows }, (_, at) => row(at))];
    }),
  );
}

/** Of all processes of a job on a node: CPU time in seconds, the most memory at any one time in bytes, and whose they were. */
function processesOf(recording: string, node: string): { cpu: number; memory: number; users: string[] } {
  const { rows, time, numbers, texts, series } = readTable(nodeOf(recording, node), 'process');
  let cpu = 0;
  const most = (column: string, at: number): number =>
    Math.max(
      0,
      ...numbers
        .get(column)!
        .subarray(series[at], series[at + 1])
        .filter((value) => !Number.isNaN(value)),
    );
  for (let at = 0; at + 1 < series.length; at++) {
    cpu += (most('user_ms', at) + most('system_ms', at)) / 1000;
  }
  // those that follow each other, as many as there were, do not add up
  const together = new Map<number, number>();
  for (let row = 0; row < rows; row++) {
    const bytes = numbers.get('rss_bytes')![row]!;
    if (!Number.isNaN(bytes)) together.set(time[row]!, (together.get(time[row]!) ?? 0) + bytes);
  }
  const { codes, values } = texts.get('user')!;
  const users = new Set(Array.from(codes.subarray(0, rows), (code) => values[code]!).filter((user) => user !== ''));
  return { cpu, memory: Math.max(0, ...together.values()), users: [...users] };
}

/** Waits until the hub has filed, completed and sealed what a job has left. */
async function sealed(user: User, name: string): Promise<string> {
  const recording = lab.archived(user, name);
  const is = (): boolean =>
    fs.existsSync(path.join(recording, 'job.json')) &&
    readJob(recording).end !== undefined &&
    readJob(recording).nodes.every((node) => fs.existsSync(path.join(recording, `node=${node}`, 'loadavg.csv.zst')));
  await eventually(`sealing ${recording}`, is);
  return recording;
}

/** The report card, as the owner of the recording sees it from the login node. */
async function report(user: User, recording: string): Promise<string> {
  const { code, stdout, stderr } = await lab.on('login', user, 'tacho', 'report', recording);
  assert.equal(code, 0, stderr);
  assert.match(stdout, new RegExp(user));
  return stdout;
}

/** A job of a user: a script in a folder of its own. */
async function job(user: User, name: string, script: string, ...options: string[]) {
  const workFolder = await lab.workFolder(user, name);
  const id = await lab.submit(user, workFolder, script, '-n1', '-t5', ...options);
  return { user, id, workFolder, out: () => read(workFolder, 'out') };
}

/** Shell: runs a command again and again until `letGo`. */
const untilLetGo = (command: string): string => `until [ -e go ]; do ${command}; done`;
const letGo = ({ workFolder }: { workFolder: string }): void => fs.writeFileSync(path.join(workFolder, 'go'), '');

/** Waits until so many samples of a job's node are in the archive, and with them what its processes are called. */
async function arrived(
  user: User,
  name: string,
  node: string,
  least: number,
  ...expectedCommands: string[]
): Promise<void> {
  const recording = lab.archived(user, name);
  const there = (): boolean => {
    try {
      const all = commands(recording, node);
      return samples(recording, node).length >= least && expectedCommands.every((each) => all.includes(each));
    } catch {
      // not there yet, or being written
      return false;
    }
  };
  await eventually(`${least} samples of ${recording} on ${node} with ${expectedCommands}`, there);
}

async function whileCut<T>(node: string, work: () => Promise<T>): Promise<T> {
  lab.cut(node);
  try {
    return await work();
  } finally {
    lab.mend(node);
  }
}

const startAgents = (): void => {
  for (const node of NODES) lab.agent(node, '--hooks-only', '--idle-interval', '2s');
};

describe('a cluster with hooks, agents, hub and MUNGE, in French', { skip }, () => {
  before(() => {
    lab.up(4, 'hooks', 'french');
    const hook = path.join(lab.folder, 'etc/prolog.d/50-tacho.sh');
    fs.renameSync(hook, path.join(lab.folder, 'etc/tacho-prolog.sh'));
    const timed = `a=$(/bin/date +%s.%N); ${lab.folder}/etc/tacho-prolog.sh; code=$?
      echo "$SLURM_JOB_ID $code $a $(/bin/date +%s.%N)" >>${lab.folder}/log/prologs; exit $code`;
    fs.writeFileSync(hook, `#!/bin/sh\n${timed}\n`, { mode: 0o755 });
    lab.hub();
    startAgents();
  });
  after(() => lab.down());

  describe('all at once', { concurrency: true }, () => {
    for (const [i, user] of USERS.entries()) {
      const node = `c${i + 1}`;
      test(`sbatch of ${user} on ${node}: filed under user and job, and nobody else's`, async () => {
        // a comma in numbers, names of months, and é before z
        const french = `printf '%.2f ' 3,14; date -d 2026-08-01 +%B; printf 'z\\né\\n' | sort | paste -sd ' '`;
        const script = `echo "$LANG"; ${french}; ${untilLetGo(`(exec -a work-of-${user} sleep 5)`)}`;
        const { id, out, workFolder } = await job(user, 'own', script, '-w', node, '-J', 'déjà-vu');
        await arrived(user, id, node, 4, `work-of-${user} 5`);
        letGo({ workFolder });
        assert.equal(await lab.ended(id), 'COMPLETED', out());
        const recording = await sealed(user, id);
        const { name, state, nodes, uid, cluster } = readJob(recording);
        assert.deepEqual([name, state, nodes, uid, cluster], ['déjà-vu', 'completed', [node], 5001 + i, 'lab']);
        assert.deepEqual(out().split('\n'), ['fr_FR.UTF-8', '3,14 août', 'é z', '']);
        assert.ok(commands(recording, node).includes(`work-of-${user} 5`));
        assert.ok(samples(recording, node).length >= 4);
        for (const each of [path.dirname(recording), recording, path.join(recording, `node=${node}`)]) {
          const { uid: owner, mode } = fs.statSync(each);
          assert.deepEqual([owner, mode & 0o777], [5001 + i, 0o700], each);
        }
        const card = await report(user, recording);
        assert.match(card, /\d\.\d/);
        assert.doesNotMatch(card, /\d,\d\d? /);
        const other = USERS[(i + 1) % 3]!;
        const { code, stderr } = await lab.on('login', other, 'tacho', 'report', recording);
        assert.equal(code, 1);
        assert.match(stderr, /permission denied/);
        assert.equal((await lab.on('login', other, 'cat', `${recording}/job.json`)).stdout, '');
      });
    }

    test("every process of a task is recorded, a user's own task prolog too, and nothing that Tacho starts", async () => {
      const workFolder = await lab.workFolder('tacho-c', 'tasks');
      const prolog = path.join(workFolder, 'my-prolog');
      fs.writeFileSync(prolog, '#!/bin/sh\n/bin/true before; :\n', { mode: 0o755 });
      // Slurm leaves the variable of its task prolog in the environment of the task
      const script = `export TACHO_TAGS=op:one; srun -n2 --overcommit sh -c '/bin/true $SLURM_SCRIPT_CONTEXT; :'
        srun -n1 --task-prolog=${prolog} /bin/true after`;
      const id = await lab.submit('tacho-c', workFolder, script, '-n1', '-w', 'c2', '-t5');
      assert.equal(await lab.ended(id), 'COMPLETED', read(workFolder, 'out'));
      const { rows, texts } = readTable(nodeOf(await sealed('tacho-c', id), 'c2'), 'process_end');
      const text = (column: string, row: number): string => texts.get(column)!.values[texts.get(column)!.codes[row]!]!;
      const ended = Array.from({ length: rows }, (_, row) =>
        ['tags', 'exename', 'args'].map((each) => text(each, row)),
      );
      const inSh = ['op:one', 'sh', "-c '/bin/true $SLURM_SCRIPT_CONTEXT; :'"];
      assert.deepEqual(ended.filter(([tags, program]) => tags !== '' && program !== 'srun').sort(), [
        inSh,
        inSh,
        ['op:one', 'sh', prolog],
        ['op:one', 'true', 'after'],
        ['op:one', 'true', 'before'],
        ['op:one', 'true', 'prolog_task'],
        ['op:one', 'true', 'prolog_task'],
      ]);
    });

    test('two users on one node: each has the processes, CPU time and memory of their own job, and is told what was shared', async () => {
      // one works for three seconds of CPU time, the other holds memory
      const scripts = {
        'tacho-b': untilLetGo(
          `bash -c 'ulimit -t 3; exec -a busy-tacho-b dd if=/dev/zero of=/dev/null bs=64k'; (exec -a idle-tacho-b sleep 6)`,
        ),
        'tacho-c': `held=$(head -c 100M /dev/zero | tr '\\0' x); ${untilLetGo('(exec -a idle-tacho-c sleep 7)')}; echo \${#held}`,
      } as const;
      const pair = ['tacho-b', 'tacho-c'] as const;
      const jobs = await Promise.all(pair.map(async (user) => await job(user, 'shared', scripts[user], '-w', 'c2')));
      const [b, c] = jobs as [(typeof jobs)[number], (typeof jobs)[number]];
      await arrived(b.user, b.id, 'c2', 2, 'idle-tacho-b 6');
      await arrived(c.user, c.id, 'c2', 2, 'idle-tacho-c 7');
      await eventually('its CPU time is seen', () => processesOf(lab.archived(b.user, b.id), 'c2').cpu > 0.5);
      for (const each of jobs) letGo(each);
      const used = { cpu: [] as number[], memory: [] as number[] };
      for (const [i, { user, id, out }] of jobs.entries()) {
        assert.equal(await lab.ended(id), 'COMPLETED', out());
        const recording = await sealed(user, id);
        const other = jobs[1 - i]!;
        const recordedCommands = commands(recording, 'c2');
        assert.ok(recordedCommands.includes(`idle-${user} ${i === 0 ? 6 : 7}`), `${recordedCommands}`);
        assert.ok(!recordedCommands.some((each) => each.includes(other.user)), `${recordedCommands}`);
        const { cpu, memory, users } = processesOf(recording, 'c2');
        assert.deepEqual(users, [user]);
        used.cpu.push(cpu);
        used.memory.push(memory);
        assert.ok(agentRecord(recording, 'c2')?.shared_with?.includes(other.id));
        assert.match(await report(user, recording), /shared|other jobs/i);
      }
      const output = JSON.stringify(used);
      const [[busy, still], [small, large]] = [used.cpu, used.memory] as [[number, number], [number, number]];
      assert.ok(busy > 0.5 && busy < 60 && still < 60, output);
      assert.ok(large > 100 << 20 && large < 600 << 20 && small < 50 << 20, output);
    });

    test('srun alone, on two nodes: both are in one recording', async () => {
      const { code, stderr } = await lab.on(
        'login',
        'tacho-a',
        'srun',
        '-n2',
        '-N2',
        '-t5',
        '-J',
        'direct',
        'sh',
        '-c',
        'sleep 3; exit 0',
      );
      assert.equal(code, 0, stderr);
      const find = (): string | undefined => {
        const folder = path.join(lab.folder, 'archive/user=tacho-a');
        const names = fs.existsSync(folder) ? fs.readdirSync(folder) : [];
        return names.find((name) => {
          const file = path.join(folder, name);
          return fs.existsSync(path.join(file, 'job.json')) && readJob(file).name === 'direct';
        });
      };
      const name = await eventually('the recording of srun', find);
      const recording = await sealed('tacho-a', name.replace('job=', ''));
      assert.equal(openRecording(recording).nodes.length, 2);
      await report('tacho-a', recording);
    });

    test('a job of two seconds has a report; so has one of an instant', async () => {
      for (const [name, seconds] of [
        ['short', 2],
        ['instant', 0],
      ] as const) {
        const { id, out } = await job('tacho-c', name, `sleep ${seconds}`, '-w', 'c1');
        assert.equal(await lab.ended(id), 'COMPLETED', out());
        const recording = await sealed('tacho-c', id);
        assert.ok(samples(recording, 'c1').length >= Math.max(2, seconds), name);
        await report('tacho-c', recording);
      }
    });

    test('tasks of an array are jobs of their own, and say of which array', async () => {
      const { id, workFolder } = await job(
        'tacho-a',
        'array',
        'echo $SLURM_JOB_ID >raw.$SLURM_ARRAY_TASK_ID; sleep 2',
        '--array=3-5',
      );
      for (const task of ['3', '4', '5']) {
        const raw = await eventually(`task ${task}`, () => read(workFolder, `raw.${task}`).trim() || undefined);
        assert.equal(await lab.ended(raw), 'COMPLETED');
        const recording = await sealed('tacho-a', raw);
        assert.deepEqual(readJob(recording).tags, { array_job: id, array_task: task });
        await report('tacho-a', recording);
      }
    });

    test('components of a heterogeneous job are recorded apart, and belong together', async () => {
      const options = ['-n1', '-w', 'c1', ':', '-n1', '-w', 'c2', '-t5'];
      const { code, stdout, stderr } = await lab.on(
        'login',
        'tacho-b',
        'srun',
        '-t5',
        ...options,
        'sh',
        '-c',
        'echo $SLURM_JOB_ID; sleep 3',
      );
      assert.equal(code, 0, stderr);
      const ids = stdout.trim().split('\n').sort();
      const recordings = await Promise.all(ids.map((id) => sealed('tacho-b', id)));
      const leader = ids[0]!;
      assert.deepEqual(
        recordings.map((each) => [readJob(each).tags.het_job, readJob(each).nodes.length]),
        ids.map(() => [leader, 1]),
      );
      for (const recording of recordings) await report('tacho-b', recording);
    });

    test('scancel: the report says who ended it', async () => {
      const { id, workFolder } = await job('tacho-c', 'cancelled', 'echo begun; sleep 600', '-w', 'c3');
      await eventually('the job', () => read(workFolder, 'out').includes('begun'));
      await sleep(2000);
      await lab.on('login', 'tacho-c', 'scancel', id);
      assert.equal(await lab.ended(id), 'CANCELLED');
      const recording = await sealed('tacho-c', id);
      assert.equal(readJob(recording).state, 'cancelled');
      assert.match(await report('tacho-c', recording), /cancelled by tacho-c/);
    });

    test('the time limit: the report names it', async () => {
      const { id } = await job('tacho-b', 'limit', 'sleep 600', '-t1', '-w', 'c1');
      assert.equal(await lab.ended(id), 'TIMEOUT');
      const recording = await sealed('tacho-b', id);
      assert.match(await report('tacho-b', recording), /time limit of 1 min 00 s reached/);
    });

    test('thirty seconds have thirty samples', async (t: TestContext) => {
      const script = '/bin/date +%s.%N; sleep 30; /bin/date +%s.%N';
      const { id, out } = await job('tacho-a', 'thirty', script, '-w', 'c1');
      assert.equal(await lab.ended(id), 'COMPLETED', out());
      const recording = await sealed('tacho-a', id);
      const [begin, end] = out()
        .trim()
        .split('\n')
        .map((text) => Number(text) * 1e6) as [number, number];
      const times = samples(recording, 'c1').map(Number);
      const seconds = new Set(
        times.filter((time) => time < end).map((time) => Math.floor((time - times[0]!) / 1e6 + 0.5)),
      );
      t.diagnostic(
        `first sample ${((times[0]! - begin) / 1e6).toFixed(3)} s after the job's script began; ${seconds.size} seconds of 30 have one`,
      );
      const record = agentRecord(recording, 'c1')!;
      assert.equal(times.length, record.ticks, 'every tick of the agent is in the archive');
      // a tick that a machine with too much to do leaves out is counted
      assert.ok(times.length + record.missed_ticks >= 30, `${times.length} samples`);
      await report('tacho-a', recording);
    });

    test('the agent is killed and started again in mid-job: what was written is there, and it goes on', async () => {
      const { id, out, workFolder } = await job('tacho-b', 'agent-killed', untilLetGo('sleep 1'), '-w', 'c3');
      const spool = path.join(lab.folder, 'spool/c3/var/tacho', `job-${id}`);
      const rows = (): string[] => read(spool, 'node=c3/loadavg.csv').split('\n').slice(1, -1);
      await eventually('some samples', () => rows().length >= 4);
      lab.signal('c3', 'KILL');
      const written = tablesIn(spool, 'c3');
      lab.agent('c3', '--hooks-only', '--idle-interval', '2s');
      await arrived('tacho-b', id, 'c3', written.get('loadavg')!.length + 3);
      letGo({ workFolder });
      assert.equal(await lab.ended(id), 'COMPLETED', out());
      const recording = await sealed('tacho-b', id);
      const stored = tablesIn(recording, 'c3');
      for (const [table, before] of written) {
        const after = stored.get(table)!;
        const there = new Set(after);
        assert.deepEqual(
          before.filter((row) => !there.has(row)),
          [],
          `${table}: all that was written is there`,
        );
        assert.equal(there.size, after.length, `${table}: nothing is there twice`);
      }
      const [before, after] = [written, stored].map((tables) => tables.get('loadavg')!.length) as [number, number];
      assert.ok(written.size > 8 && before >= 4 && after > before + 2, `${before} of ${after}`);
      await report('tacho-b', recording);
    });

    test('the hub is killed and started again in mid-job: nothing is lost, nothing is there twice', async (t: TestContext) => {
      const { id, out, workFolder } = await job('tacho-c', 'hub-killed', untilLetGo('sleep 1'), '-w', 'c2');
      const there = (): boolean => fs.existsSync(path.join(lab.archived('tacho-c', id), 'node=c2/loadavg.csv'));
      await eventually('the first samples in the archive', there);
      lab.signal('login', 'KILL');
      await sleep(3000);
      lab.hub();
      await arrived('tacho-c', id, 'c2', 12);
      letGo({ workFolder });
      assert.equal(await lab.ended(id), 'COMPLETED', out());
      const recording = await sealed('tacho-c', id);
      const times = samples(recording, 'c2').map(Number);
      t.diagnostic(`${times.length} samples, the hub was away for more than 3 s`);
      assert.equal(new Set(times).size, times.length);
      assert.equal(times.length, agentRecord(recording, 'c2')!.ticks);
      assert.ok(times.length >= 12);
      await report('tacho-c', recording);
    });

    describe('on the last node, one after the other', { concurrency: 1 }, () => {
      test('the network between agent and hub is cut while jobs begin and end: every row is there, once', async (t: TestContext) => {
        const before = await job('tacho-a', 'cut-before', untilLetGo('sleep 1'), '-p', 'all', '-w', 'c4');
        await eventually('the first job', () =>
          fs.existsSync(path.join(lab.archived('tacho-a', before.id), 'node=c4')),
        );
        const spool = (id: string): string => path.join(lab.folder, 'spool/c4/var/tacho', `job-${id}`);
        const [inside, after, kept] = await whileCut('c4', async () => {
          const inside = await job('tacho-a', 'cut-inside', 'sleep 3', '-p', 'all', '-w', 'c4');
          assert.equal(await lab.ended(inside.id), 'COMPLETED');
          const after = await job('tacho-a', 'cut-after', 'sleep 30', '-p', 'all', '-w', 'c4');
          // a request that is under way is given up after 20 s: packets vanish, nobody says that they do
          const isReported = (): boolean =>
            /no (?:answer|connection) within/.test(read(lab.folder, 'log/agent-c4.out'));
          await eventually('the agent notices', isReported);
          letGo(before);
          assert.equal(await lab.ended(before.id), 'COMPLETED');
          await eventually('the third job', () => fs.existsSync(path.join(spool(after.id), 'node=c4/loadavg.csv')));
          assert.ok(!fs.existsSync(lab.archived('tacho-a', inside.id)));
          return [inside, after, [before, inside, after].map(({ id }) => tablesIn(spool(id), 'c4'))] as const;
        });
        assert.equal(await lab.ended(after.id), 'COMPLETED');
        let rows = 0;
        for (const [i, { id }] of [before, inside, after].entries()) {
          const recording = await sealed('tacho-a', id);
          const stored = tablesIn(recording, 'c4');
          for (const [table, written] of kept[i]!) {
            const there = new Set(stored.get(table));
            assert.deepEqual(
              written.filter((row) => !there.has(row)),
              [],
              `${id} ${table}: what was in the spool`,
            );
            assert.equal(there.size, stored.get(table)!.length, `${id} ${table}: nothing is there twice`);
            rows += written.length;
          }
          assert.equal(stored.get('loadavg')!.length, agentRecord(recording, 'c4')!.ticks);
          await report('tacho-a', recording);
        }
        t.diagnostic(`${rows} rows waited in the spool`);
      });

      test('a node crashes: the job comes again with the same id, and has two recordings', async () => {
        const script =
          'echo "run $SLURM_RESTART_COUNT"; if [ -z "$SLURM_RESTART_COUNT" ]; then sleep 600; else until [ -e go ]; do sleep 3; done; fi';
        const { id, workFolder } = await job(
          'tacho-c',
          'crash',
          script,
          '-p',
          'all',
          '-w',
          'c4',
          '--requeue',
          '--open-mode=append',
        );
        const first = lab.archived('tacho-c', id);
        await arrived('tacho-c', id, 'c4', 3, 'sleep 600');
        lab.crash('c4');
        const before = samples(first, 'c4').length;
        const state = async (): Promise<string> =>
          (await lab.on('login', 'root', 'squeue', '-h', '-j', id, '-o', '%T')).stdout.trim();
        await eventually(`job ${id} in the queue again`, async () => (await state()) === 'PENDING');
        lab.boot('c4');
        lab.agent('c4', '--hooks-only', '--idle-interval', '2s');
        await arrived('tacho-c', `${id}r1`, 'c4', 3, 'sleep 3');
        letGo({ workFolder });
        assert.equal(await lab.ended(id), 'COMPLETED', read(workFolder, 'out'));
        const again = await sealed('tacho-c', `${id}r1`);
        await sealed('tacho-c', id);
        assert.deepEqual(
          [first, again].map((each) => [readJob(each).id, readJob(each).restart ?? 0, readJob(each).nodes]),
          [
            [id, 0, ['c4']],
            [id, 1, ['c4']],
          ],
        );
        assert.equal(readJob(again).state, 'completed');
        assert.notEqual(readJob(first).state, 'completed');
        assert.deepEqual(read(workFolder, 'out').match(/^run ?\d?$/gm), ['run ', 'run 1']);
        // the first run has what had arrived and what lay on the node's disk; the second begins after it
        const [one, two] = [samples(first, 'c4'), samples(again, 'c4')];
        assert.ok(one.length >= before && two.length >= 3, `${one.length} of ${before}, ${two.length}`);
        assert.ok(Math.max(...one) < Math.min(...two));
        assert.ok(commands(first, 'c4').includes('sleep 600') && !commands(first, 'c4').includes('sleep 3'));
        assert.ok(commands(again, 'c4').includes('sleep 3') && !commands(again, 'c4').includes('sleep 600'));
        await report('tacho-c', again);
        await report('tacho-c', first);
      });
    });

    test('nobody writes as a node, as another node, or for another user', async () => {
      const home = await lab.workFolder('tacho-b', 'attack');
      const attack = (node: string, user: User | 'root', workFolder: string, ...more: string[]) =>
        lab.on(
          node,
          user,
          'timeout',
          '40',
          'tacho',
          'agent',
          '--spool',
          `${workFolder}/spool`,
          '--jobs',
          `${workFolder}/jobs`,
          '--hub',
          'login:8471',
          '--trust',
          'munge',
          '--hooks-only',
          '--idle-interval',
          '1s',
          ...more,
        );
      const facts = ['--job-id', '99901', '--user', 'tacho-a', '--uid', '5001', '--nodes', 'c1'];
      const reported = await lab.on('c1', 'tacho-b', 'tacho', 'job', 'begin', '--jobs', `${home}/jobs`, ...facts);
      assert.equal(reported.code, 0, reported.stderr);
      const [user, root] = await Promise.all([
        attack('c1', 'tacho-b', home),
        attack('c1', 'root', '/tmp/attack', '--node', 'c2'),
      ]);
      const refused = 'this hub takes recordings from the agents of nodes alone \\(trust.users_write\\)';
      assert.match(user.stderr, new RegExp(`refuses job-99901: ${refused}`));
      assert.match(user.stderr, new RegExp(`refuses fleet-\\S+: ${refused}`));
      assert.match(root.stderr, /c2 is (neither|not) at 10\.213\.0\.11/);
      assert.ok(!fs.existsSync(lab.archived('tacho-a', '99901')));
    });

    test('tacho ls: users see what is theirs, root sees all', async () => {
      const jobs = await Promise.all(
        USERS.map(async (user) => await job(user, 'ls', untilLetGo('sleep 1'), '-w', 'c3')),
      );
      for (const { user, id } of jobs) {
        const there = (): boolean => fs.existsSync(path.join(lab.archived(user, id), 'node=c3/agent.json'));
        await eventually(`the job of ${user}`, there);
      }
      // another test kills the hub now and then: it fails, and one that came back does not know all of its nodes at once
      const ls = async (user: User | 'root', whose: string[]): Promise<NodeLine[]> => {
        let last = '';
        const look = async (): Promise<NodeLine[] | undefined> => {
          const { code, stdout, stderr } = await lab.on('login', user, 'tacho', 'nodes', ...HUB, '--format', 'json');
          const lines = code === 0 ? (JSON.parse(stdout) as NodeLine[]) : [];
          const loggedUsers = [...new Set(lines.map((line) => line.user))].sort();
          assert.deepEqual(
            loggedUsers.filter((each) => !whose.includes(each)),
            [],
          );
          last = `${user} sees ${loggedUsers}; ${stderr}`;
          return loggedUsers.length === whose.length ? lines : undefined;
        };
        return eventually(() => `what ${user} may see: ${last}`, look);
      };
      for (const user of USERS) await ls(user, [user]);
      const all = await ls('root', ['', ...USERS]);
      assert.ok(all.some(({ kind, node }) => kind === 'fleet' && node === 'c1'));
      for (const each of jobs) letGo(each);
    });
  });

  test('with agents and hub away a prolog neither delays nor fails a job, and the job is recorded when they are back', async (t: TestContext) => {
    for (const node of [...NODES, 'login']) lab.signal(node, 'TERM');
    const away = await job('tacho-a', 'away', untilLetGo('sleep 1'), '-w', 'c1');
    await eventually('the prolog', () => read(lab.folder, 'log/prologs').includes(`${away.id} 0 `));
    lab.agent('c1', '--hooks-only', '--idle-interval', '2s');
    await eventually('two samples', () => lab.spooled('c1', away.id, 'loadavg').split('\n').length > 3);
    letGo(away);
    assert.equal(await lab.ended(away.id), 'COMPLETED', away.out());
    lab.hub();
    const recording = await sealed('tacho-a', away.id);
    assert.ok(samples(recording, 'c1').length >= 2);
    await report('tacho-a', recording);
    const prologs = read(lab.folder, 'log/prologs')
      .trim()
      .split('\n')
      .map((line) => line.split(' ').map(Number));
    assert.ok(prologs.every(([, code]) => code === 0));
    const took = prologs.map(([, , a, b]) => (b! - a!) * 1000);
    took.sort((a, b) => a - b);
    const ms = (at: number): string => took[Math.floor(at * (took.length - 1))]!.toFixed(0);
    t.diagnostic(`prolog: ${ms(0.5)} ms (median), ${ms(1)} ms (slowest) of ${took.length}`);
    assert.ok(took.length > 10);
  });
});
