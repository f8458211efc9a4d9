import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type NodeRecording, openRecording } from '../src/recording/folder/open.ts';
import { readTable } from '../src/recording/read/read.ts';
import { fakeGpu, hasCompiler } from './fake-gpu/build.ts';
import { eventually } from './made/eventually.ts';
import { TACHO, tacho, temporaryFolder } from './tacho.ts';

const HOOKS = path.join(import.meta.dirname, '../packaging/slurm');
const LIBRARY = path.join(import.meta.dirname, '../native/build/libtacho-record.so');
const lacks = fs.existsSync(LIBRARY) ? false : 'needs gcc';

/** A node: its agent as a service, and jobs as Slurm would run them: prolog, script, epilog. */
function node(t: TestContext) {
  const folder = temporaryFolder(t);
  const at = (name: string): string => path.join(folder, name);
  const running = new Set<ChildProcess>();
  t.after(() => {
    for (const child of running) child.kill('SIGKILL');
  });
  const env = { ...process.env, TACHO_SERVICE_JOBS: at('jobs'), LC_ALL: 'fr_FR.UTF-8' };

  const start = (
    command: string,
    args: string[],
    more: Record<string, string> = {},
  ): Promise<number | null> & { child: ChildProcess } => {
    const child = spawn(command, args, { env: { ...env, ...more }, stdio: ['ignore', 'ignore', 'inherit'] });
    running.add(child);
    const ended = new Promise<number | null>((resolve) => child.on('exit', resolve)).finally(() =>
      running.delete(child),
    );
    return Object.assign(ended, { child });
  };

  fs.writeFileSync(at('hold'), '');
  return {
    spool: at('spool'),
    jobs: at('jobs'),
    /** Shell: runs a command again and again until `release` is called, or the test is over. */
    hold: (command: string): string => `while [ -e ${at('hold')} ]; do ${command}; done`,
    release: (): void => fs.rmSync(at('hold')),
    /** The line of a script that does what Slurm does with the TaskProlog. */
    taskProlog(): string {
      fs.writeFileSync(at('task-prolog.sh'), tacho(['slurm', 'hooks', '--task-prolog']).out);
      return `eval "$(sh ${at('task-prolog.sh')})"`;
    },
    /** Resolves when it records. */
    async agent(): Promise<{ kill(signal: NodeJS.Signals): Promise<number | null> }> {
      const child = spawn(
        TACHO,
        ['agent', '--spool', at('spool'), '--node', 'c1', '--job-interval', '0.2s', '--hooks-only'],
        {
          env,
          stdio: ['ignore', 'ignore', 'pipe'],
        },
      );
      running.add(child);
      const ended = new Promise<number | null>((resolve) => child.on('exit', resolve));
      let output = '';
      const ready = new Promise<void>((resolve) => {
        child.stderr!.setEncoding('utf8').on('data', (text: string) => {
          output += text;
          if (output.includes('records c1')) resolve();
        });
      });
      await Promise.race([ready, ended.then((code) => assert.fail(`the agent ended (${code}): ${output}`))]);
      return {
        kill(signal) {
          // the launcher may be a shell around it
          process.kill(agentPid(at('spool')), signal);
          return ended.finally(() => running.delete(child));
        },
      };
    },
    async job(id: string, script: string, more: Record<string, string> = {}): Promise<void> {
      const facts = {
        SLURM_JOB_ID: id,
        SLURM_JOB_UID: `${process.getuid!()}`,
        SLURM_JOB_USER: `user${id}`,
        SLURM_NODELIST: 'c[0-1]',
        ...more,
      };
      await start('/bin/sh', [path.join(HOOKS, 'prolog.sh')], facts);
      const code = await start('/bin/sh', ['-c', script], { SLURM_JOB_ID: id });
      await start('/bin/sh', [path.join(HOOKS, 'epilog.sh')], { SLURM_JOB_ID: id, SLURM_JOB_EXIT_CODE2: `${code}:0` });
    },
  };
}

function agentPid(spool: string): number {
  return (JSON.parse(fs.readFileSync(path.join(spool, '.agent.json'), 'utf8')) as { pid: number }).pid;
}

const read = (...names: string[]): string => {
  const file = path.join(...names);
  return fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : '';
};

const ended = (spool: string, name: string) => (): boolean =>
  openRecording(path.join(spool, name)).job.end !== undefined;

const column = (recorded: NodeRecording, table: string, name: string): string[] =>
  readTable(recorded, table, { columns: [name] })
    .texts.get(name)!
    .values.filter((value) => value !== '');

test('two jobs at once on a node whose agent is killed and started again', async (t) => {
  const { agent, job, spool, jobs, hold, release } = node(t);
  const first = await agent();
  const both = Promise.all([
    job('4711', `${hold('sleep 3.11')}; exit 0`),
    job('4712', `setsid sleep 300.12 & ${hold('sleep 3.12')}; exit 3`),
  ]);
  const hasProcess = (name: string, command: string): boolean =>
    read(spool, name, 'node=c1/process.csv').includes(`,${command},`);
  await eventually(
    'both jobs are recorded',
    () =>
      hasProcess('job-4711', 'sleep 3.11') &&
      hasProcess('job-4712', 'sleep 3.12') &&
      hasProcess('job-4712', 'sleep 300.12'),
  );
  const samples = (): string[] => read(spool, 'job-4711/node=c1/loadavg.csv').split('\n').slice(1, -1);
  await eventually('some samples', () => samples().length >= 5);
  const written = samples();
  await first.kill('SIGKILL');
  const second = await agent();
  await eventually('the next one goes on', () => samples().some((line) => line > written.at(-1)!));
  release();
  await both;
  await eventually('both jobs have ended', () => ended(spool, 'job-4711')() && ended(spool, 'job-4712')());
  assert.equal(await second.kill('SIGTERM'), 0);
  assert.deepEqual(fs.readdirSync(jobs), []);

  const [one, two] = ['job-4711', 'job-4712'].map((name) => openRecording(path.join(spool, name))) as [
    ReturnType<typeof openRecording>,
    ReturnType<typeof openRecording>,
  ];
  assert.deepEqual([one.job.id, one.job.user, one.job.state, one.job.exit_code], ['4711', 'user4711', 'completed', 0]);
  assert.deepEqual([two.job.id, two.job.user, two.job.state, two.job.exit_code], ['4712', 'user4712', 'failed', 3]);
  const [a, b] = [one.nodes[0]!, two.nodes[0]!];
  const rows = readTable(a, 'loadavg', { columns: [] });
  const times = new Set(Array.from(rows.time.subarray(0, rows.rows), String));
  assert.deepEqual(
    written.map((line) => line.split(',')[0]!).filter((time) => !times.has(time)),
    [],
    'what the agent had written before it was killed is all there',
  );
  assert.ok(written.length >= 5);
  assert.ok(times.size > written.length, 'and the next one went on');
  assert.equal(a.agent!.first_sample, Number(written[0]!.split(',')[0]));
  assert.ok(a.agent!.first_sample! >= one.job.start);

  const processes = readTable(a, 'process', { columns: [] });
  const pids = new Set(processes.texts.get('pid')!.values.filter((pid) => pid !== ''));
  assert.equal(processes.series.length - 1, pids.size, 'a process has one name before and after');

  const [inA, inB] = [column(a, 'process', 'command'), column(b, 'process', 'command')];
  assert.ok(inA.includes('sleep 3.11') && inB.includes('sleep 3.12') && inB.includes('sleep 300.12'));
  assert.ok(!inA.some((command) => command.includes('3.12')) && !inB.some((command) => command.includes('3.11')));
  assert.deepEqual([a.agent!.shared_with, b.agent!.shared_with], [['4712'], ['4711']]);
  assert.deepEqual(a.agent!.left_running, []);
  assert.deepEqual(
    b.agent!.left_running!.map(({ command }) => command),
    ['sleep 300.12'],
  );
  process.kill(b.agent!.left_running![0]!.pid);

  const listed = JSON.parse(tacho(['list', spool, '--format', 'json']).out) as { job: string; state: string }[];
  // it may be midnight
  const names = new Set(listed.map((each) => each.job.replace(/\d{4}-.*/, 'DAY')));
  assert.deepEqual([...names].sort(), ['4711', '4712', 'fleet-DAY']);
  const report = tacho(['report', path.join(spool, 'job-4712')]);
  assert.equal(report.code, 0, report.err);
  assert.match(report.out, /still running/);
  assert.match(report.out, /shared with[^.]*4711/s);
  if (!lacks) assert.match(report.out.replace(/\s+/g, ' '), /no process of the job recorded itself: .* --task-prolog/);
});

test('of a job that began before the agent was there nobody says that its task prolog did not run', {
  skip: lacks,
}, async (t) => {
  const { agent, spool, jobs, hold, release } = node(t);
  const facts = {
    SLURM_JOB_ID: '8',
    SLURM_JOB_UID: `${process.getuid!()}`,
    SLURM_JOB_USER: 'ada',
    SLURM_NODELIST: 'c1',
  };
  const lines = Object.entries({ ...facts, BEGIN: (Date.now() - 1000) / 1000 }).map(
    ([key, value]) => `${key}=${value}\n`,
  );
  fs.mkdirSync(jobs, { recursive: true });
  fs.writeFileSync(path.join(jobs, '8'), lines.join(''));
  const child = spawn('/bin/sh', ['-c', hold('sleep 0.1')], { env: { PATH: process.env.PATH, SLURM_JOB_ID: '8' } });
  const over = new Promise((resolve) => child.on('exit', resolve));
  t.after(() => child.kill('SIGKILL'));
  const { kill } = await agent();
  await eventually('a process of the job is seen', () =>
    read(spool, 'job-8/node=c1/process.csv').includes('sleep 0.1'),
  );
  release();
  await over;
  fs.writeFileSync(path.join(jobs, '8.end'), 'SLURM_JOB_ID=8\n');
  await eventually('the job has ended', ended(spool, 'job-8'));
  assert.equal(await kill('SIGTERM'), 0);
  const card = tacho(['report', path.join(spool, 'job-8')]).out.replace(/\s+/g, ' ');
  assert.match(card, /recorded itself: it started before the agent of the node/);
  assert.doesNotMatch(card, /task-prolog/);
});

test('a job that lasts for a moment is recorded', async (t) => {
  const { agent, job, spool } = node(t);
  const { kill } = await agent();
  await job('5', 'exit 0');
  await eventually(
    'the job has ended',
    () => fs.existsSync(path.join(spool, 'job-5', 'job.json')) && ended(spool, 'job-5')(),
  );
  assert.equal(await kill('SIGTERM'), 0);
  const { job: facts, nodes } = openRecording(path.join(spool, 'job-5'));
  assert.equal(facts.state, 'completed');
  assert.ok(readTable(nodes[0]!, 'loadavg', { columns: [] }).rows >= 2);
});

test('with the TaskProlog every process of a job records itself, before and after the agent is restarted', {
  skip: lacks,
}, async (t) => {
  const { agent, job, spool, jobs, taskProlog } = node(t);
  const first = await agent();
  const done = job('6', `${taskProlog()}; /bin/true first; sleep 2.5; /bin/true second`);
  await eventually('the first process is recorded', () => {
    const file = path.join(spool, 'job-6', 'node=c1', 'process_end.csv');
    return fs.existsSync(file) && fs.readFileSync(file, 'utf8').includes(',first,');
  });
  assert.equal(await first.kill('SIGTERM'), 0);
  const second = await agent();
  await done;
  await eventually('the job has ended', ended(spool, 'job-6'));
  await second.kill('SIGTERM');
  const [recorded] = openRecording(path.join(spool, 'job-6')).nodes;
  const args = column(recorded!, 'process_end', 'args');
  for (const each of ['first', '2.5', 'second']) {
    assert.equal(args.filter((line) => line === each).length, 1, each);
  }
  assert.doesNotMatch(tacho(['report', path.join(spool, 'job-6')]).out, /recorded itself/);
  assert.deepEqual(fs.readdirSync(path.join(path.dirname(jobs), 'records')), []);
});

test('what processes record when the agent is dead is not lost, also when the job has ended before the next agent', {
  skip: lacks,
}, async (t) => {
  const { agent, job, spool, jobs, taskProlog, hold, release } = node(t);
  const first = await agent();
  const rest = `${hold('sleep 0.1')}; /bin/true second; sleep 6; /bin/true third`;
  const done = job('7', `${taskProlog()}; /bin/true first; ${rest}`);
  await eventually('the first process is recorded', () => {
    const file = path.join(spool, 'job-7', 'node=c1', 'process_end.csv');
    return fs.existsSync(file) && fs.readFileSync(file, 'utf8').includes(',first,');
  });
  await first.kill('SIGKILL');
  release();
  await done;
  const second = await agent();
  await eventually('the job is closed', ended(spool, 'job-7'));
  await eventually(
    'its place is gone',
    () => !fs.readdirSync(path.join(path.dirname(jobs), 'records')).includes('job-7'),
  );
  await second.kill('SIGTERM');
  const { nodes } = openRecording(path.join(spool, 'job-7'));
  const args = column(nodes[0]!, 'process_end', 'args');
  for (const each of ['first', 'second', 'third'])
    assert.equal(args.filter((line) => line === each).length, 1, `${each} in ${args}`);
  const card = tacho(['report', path.join(spool, 'job-7')]).out;
  assert.match(
    card.replace(/\s+/g, ' '),
    /c1: last sample .* its agent was killed, and the next one came after the job/,
  );
  assert.doesNotMatch(card, /Quality A/);
});

test('inside a job, mark, fom, annotate and env find its recording, although its user cannot write there', {
  skip: lacks,
}, async (t) => {
  const { agent, job, spool, jobs } = node(t);
  fs.chmodSync(path.dirname(spool), 0o711);
  const uid = process.getuid!() === 0 ? 65534 : process.getuid!();
  const as = process.getuid!() === 0 ? `setpriv --reuid=${uid} --clear-groups` : '';
  const script = path.join(path.dirname(spool), 'script.sh');
  fs.writeFileSync(
    script,
    `set -e
    tacho() { ${TACHO} "$@"; }
    tacho mark begin 'epoch 1'
    tacho fom loss=2.31
    eval "$(tacho env sh)"
    /bin/true within
    tacho mark end
    tacho annotate note='slow disk' --tag case:base >/dev/null
    ls -ldL ${path.dirname(jobs)}/users/${uid}/jobs/job-8.marks | grep -q '^drwx------'
    ! ls ${spool} 2>/dev/null
    ! tacho stop 2>/dev/null
    tacho demo --help >/dev/null\n`,
  );
  const first = await agent();
  const done = job('8', `${as} sh ${script}`, { SLURM_JOB_UID: `${uid}` });
  await eventually('marks come while it runs', () => fs.existsSync(path.join(spool, 'job-8/node=c1/marker.csv')));
  // what it says while no agent is there is not lost
  await first.kill('SIGKILL');
  const second = await agent();
  await done;
  await eventually('the job has ended', ended(spool, 'job-8'));
  await second.kill('SIGTERM');
  const { job: facts, nodes } = openRecording(path.join(spool, 'job-8'));
  assert.equal(facts.state, 'completed');
  assert.deepEqual(column(nodes[0]!, 'marker', 'action').sort(), ['begin', 'end', 'fom']);
  const { numbers } = readTable(nodes[0]!, 'marker', { columns: ['value'] });
  assert.deepEqual(
    [...numbers.get('value')!].filter((value) => !Number.isNaN(value)),
    [2.31],
  );
  // each of Tacho's commands, also one that found nothing to stop and one that has nothing to do with the recording
  assert.equal(facts.own_use!.c1!.commands, 7, JSON.stringify(facts.own_use));
  assert.ok(facts.own_use!.c1!.cpu_seconds > 0.2, JSON.stringify(facts.own_use));
  assert.deepEqual([facts.annotations, facts.tags], [{ note: 'slow disk' }, { case: 'base' }]);
  assert.equal(column(nodes[0]!, 'process_end', 'args').filter((line) => line === 'within').length, 1);
  assert.deepEqual(fs.readdirSync(path.join(path.dirname(jobs), 'marks/jobs')), []);
  assert.deepEqual(fs.readdirSync(path.join(path.dirname(jobs), `users/${uid}/jobs`)), []);
  assert.match(tacho(['report', path.join(spool, 'job-8')]).out, /epoch 1/);
});

test('a mark in the first line of a script waits for an agent that is busy', { skip: lacks }, async (t) => {
  const { agent, job, spool } = node(t);
  const { kill } = await agent();
  const asks = path.join(path.dirname(spool), 'asks');
  process.kill(agentPid(spool), 'SIGSTOP');
  const done = job('8', `touch ${asks}; ${TACHO} mark begin early && /bin/true within`);
  await eventually('the job asks', () => fs.existsSync(asks));
  await sleep(1500);
  process.kill(agentPid(spool), 'SIGCONT');
  await done;
  await eventually('the job has ended', ended(spool, 'job-8'));
  assert.equal(await kill('SIGTERM'), 0);
  const { job: facts, nodes } = openRecording(path.join(spool, 'job-8'));
  assert.equal(facts.state, 'completed');
  assert.deepEqual(column(nodes[0]!, 'marker', 'name'), ['early']);
  assert.equal(facts.own_use!.c1!.commands, 1);
});

test("the node's GPUs are read once, and each job's own are marked in its recording", {
  skip: hasCompiler() ? false : 'needs a C compiler for the stand-in GPU library',
}, async (t) => {
  fakeGpu(t, 'nvml', 'cards 2\n');
  const { agent, job, spool, hold, release } = node(t);
  const { kill } = await agent();
  const both = Promise.all(['8', '9'].map((id, i) => job(id, hold('sleep 0.1'), { SLURM_JOB_GPUS: `${i}` })));
  const there = (name: string): boolean => read(spool, name, 'node=c1/gpu.csv').includes('\n1');
  await eventually('the GPUs are read', () => there('job-8') && there('job-9'));
  release();
  await both;
  await eventually('both jobs have ended', () => ended(spool, 'job-8')() && ended(spool, 'job-9')());
  assert.equal(await kill('SIGTERM'), 0);
  const own = (name: string): string[] => {
    const { nodes } = openRecording(path.join(spool, name));
    assert.equal(nodes[0]!.agent!.facts.gpus.length, 2);
    const { texts, rows } = readTable(nodes[0]!, 'gpu', { columns: ['mine'] });
    const word = (column: string, row: number): string => texts.get(column)!.values[texts.get(column)!.codes[row]!]!;
    return [...new Set(Array.from({ length: rows }, (_, row) => `${word('gpu', row)} ${word('mine', row)}`))].sort();
  };
  assert.deepEqual(own('job-8'), ['0 yes', '1 no']);
  assert.deepEqual(own('job-9'), ['0 no', '1 yes']);
  const fleet = fs.readdirSync(spool).find((name) => name.startsWith('fleet-'))!;
  assert.deepEqual(own(fleet), ['0 ', '1 ']);
});
