import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { type TestContext, test } from 'node:test';
import { type NodeRecording, openRecording } from '../src/recording/folder/open.ts';
import { readTable } from '../src/recording/read/read.ts';
import { eventually } from './made/eventually.ts';
import { TACHO, tacho, temporaryFolder } from './tacho.ts';

/** Where this machine has version 2, be it alone or beside version 1. */
const UNIFIED = ['/sys/fs/cgroup/unified', '/sys/fs/cgroup'].find((each) => fs.existsSync(`${each}/cgroup.procs`));
const skip =
  process.getuid?.() !== 0
    ? 'cgroups of its own need root'
    : UNIFIED === undefined
      ? 'this machine has no cgroups of version 2'
      : spawnSync('unshare', ['--mount', 'true']).status !== 0 && 'this machine does not allow namespaces';

const USERS = { nobody: 65534, daemon: 1 } as const;

/** Cgroups as Slurm's plugin for version 2 makes them: SCOPE/job_N/step_M/user/task_K. */
class Slurm {
  private readonly scope = `${UNIFIED}/system.slice/tacho-${process.pid}_slurmstepd.scope`;
  private readonly above = path.dirname(this.scope);
  private readonly running = new Set<ChildProcess>();

  constructor(t: TestContext) {
    const made = !fs.existsSync(this.above);
    fs.mkdirSync(this.scope, { recursive: true });
    t.after(async () => {
      await this.kill();
      this.remove(this.scope);
      if (made) fs.rmdirSync(this.above);
    });
  }

  /** A step of a job: a program of a user in a cgroup of its own. */
  step(id: string, step: string, user: keyof typeof USERS, program: string, ...args: string[]): ChildProcess {
    const folder = path.join(this.scope, `job_${id}`, `step_${step}`, 'user/task_0');
    fs.mkdirSync(folder, { recursive: true });
    const as = ['setpriv', `--reuid=${USERS[user]}`, `--regid=${USERS[user]}`, '--clear-groups'];
    const enter = ['-c', 'echo $$ >"$0/cgroup.procs" && exec "$@"', folder];
    const env = { PATH: process.env.PATH, SLURM_JOB_ID: id, SLURM_JOB_NODELIST: 'c1' };
    const child = spawn('sh', [...enter, ...as, program, ...args], { env, stdio: ['ignore', 'pipe', 'inherit'] });
    this.running.add(child);
    child.once('exit', () => this.running.delete(child));
    return child;
  }

  /** Ends all that runs, and waits until it has. */
  async kill(): Promise<void> {
    const gone = [...this.running].map((child) => new Promise((resolve) => child.once('exit', resolve)));
    for (const child of this.running) child.kill('SIGKILL');
    await Promise.all(gone);
  }

  cpuMicroseconds(id: string): number {
    const text = fs.readFileSync(path.join(this.scope, `job_${id}`, 'cpu.stat'), 'utf8');
    return Number(/^usage_usec (\d+)/m.exec(text)![1]);
  }

  end(id: string): void {
    this.remove(path.join(this.scope, `job_${id}`));
  }

  private remove(folder: string): void {
    for (const entry of fs.readdirSync(folder, { withFileTypes: true }))
      if (entry.isDirectory()) this.remove(path.join(folder, entry.name));
    fs.rmdirSync(folder);
  }
}

/** The agent of a node that has cgroups of version 2 alone. */
async function agent(t: TestContext, folder: string): Promise<(signal: NodeJS.Signals) => Promise<void>> {
  const only =
    'mount --make-rprivate / && umount -R /sys/fs/cgroup && mount -t cgroup2 none /sys/fs/cgroup && exec "$@"';
  const options = ['--spool', path.join(folder, 'spool'), '--jobs', path.join(folder, 'jobs'), '--node', 'c1'];
  const args = ['--mount', 'sh', '-c', only, '-', TACHO, 'agent', ...options, '--job-interval', '0.2s'];
  const child = spawn('unshare', args, { stdio: ['ignore', 'ignore', 'pipe'] });
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  t.after(() => child.kill('SIGKILL'));
  let output = '';
  child.stderr.on('data', (chunk: Buffer) => {
    output += chunk;
  });
  await eventually(
    () => `the agent, which said: ${output}`,
    () => {
      assert.equal(child.exitCode, null, output);
      return output.includes('records c1');
    },
  );
  return (signal) => {
    child.kill(signal);
    return ended;
  };
}

const BURN = `const until = (s) => { for (let i = 0; i % 1e6 || process.cpuUsage().user < s * 1e6; i++); };
  until(Number(process.argv[1])); console.log('burnt'); setTimeout(() => {}, 3600_000);`;

/** The last value of a counter in each cgroup of a job. */
function lastOf(node: NodeRecording, column: string): Record<string, number> {
  const { rows, numbers, texts } = readTable(node, 'cgroup', { columns: [column] });
  const { codes, values } = texts.get('cgroup')!;
  return Object.fromEntries(Array.from({ length: rows }, (_, r) => [values[codes[r]!]!, numbers.get(column)![r]!]));
}

test('version 2 alone: jobs are noticed by their cgroups, and each is given what its own processes used', {
  skip,
}, async (t) => {
  const folder = temporaryFolder(t);
  const slurm = new Slurm(t);
  const stop = await agent(t, folder);
  const spooled = (id: string): string => path.join(folder, 'spool', `job-${id}`);
  const burnt = (child: ChildProcess): Promise<unknown> =>
    new Promise((resolve) => child.stdout!.once('data', resolve));
  const jobs = [
    { id: '900001', user: 'nobody', seconds: 1.2, other: '41' },
    { id: '900002', user: 'daemon', seconds: 0.3, other: '42' },
  ] as const;
  const began = Date.now() * 1000;
  const steps = jobs.map(({ id, user, seconds, other }) => [
    slurm.step(id, 'batch', user, process.execPath, '-e', BURN, `${seconds}`),
    slurm.step(id, '0', user, 'sleep', other),
  ]);
  await Promise.all(steps.map(([burning]) => burnt(burning!)));
  const isRecorded = ({ id, seconds, other }: (typeof jobs)[number]): boolean => {
    const file = path.join(spooled(id), 'node=c1/process.csv');
    if (!fs.existsSync(file) || !fs.readFileSync(file, 'utf8').includes(`,sleep ${other},`)) return false;
    const cpu = lastOf(openRecording(spooled(id)).nodes[0]!, 'usage_us');
    return Object.keys(cpu).length === 5 && cpu['.']! >= seconds * 1e6;
  };
  await eventually('what the jobs use', () => jobs.every(isRecorded));
  await slurm.kill();
  const used = jobs.map(({ id }) => slurm.cpuMicroseconds(id));
  for (const { id } of jobs) slurm.end(id);
  await eventually('the end of the jobs', () =>
    jobs.every(({ id }) => openRecording(spooled(id)).job.end !== undefined),
  );
  await stop('SIGTERM');
  for (const [i, { id, user, seconds, other }] of jobs.entries()) {
    const { job, nodes } = openRecording(spooled(id));
    const node = nodes[0]!;
    assert.deepEqual([job.id, job.user, job.uid], [id, user, USERS[user]]);
    assert.equal(node.agent!.scope?.members, 'cgroup');
    t.diagnostic(`noticed after ${(node.agent!.first_sample! - began) / 1e6} s`);
    const commands = readTable(node, 'process', { columns: ['command'] }).texts.get('command')!.values;
    assert.deepEqual(
      commands.filter((command) => command.startsWith('sleep')),
      [`sleep ${other}`],
    );
    const cpu = lastOf(node, 'usage_us');
    assert.deepEqual(Object.keys(cpu).sort(), ['.', 'step_0', 'step_0/user', 'step_batch', 'step_batch/user']);
    assert.ok(cpu['.']! <= used[i]! && cpu['.']! >= seconds * 1e6, `${cpu['.']} of ${used[i]} µs, ${seconds} s burnt`);
    assert.ok(cpu['.']! >= cpu.step_batch! && cpu.step_batch! >= cpu.step_0!, JSON.stringify(cpu));
    const { code, out, err } = tacho(['report', spooled(id)]);
    assert.equal(code, 0, err);
    assert.match(out, new RegExp(`${user}, node c1`));
  }
});
