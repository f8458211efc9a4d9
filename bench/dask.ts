import { type ChildProcess, type StdioOptions, spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import * as readline from 'node:readline';
import { DaskWriter } from '../src/dask/dask-writer.ts';
import { daskPeaks } from '../src/query/dask/peaks.ts';
import { daskSamples } from '../src/query/dask/workers.ts';
import { openRecording } from '../src/recording/folder/open.ts';
import { sealRecording } from '../src/recording/sealed/seal.ts';
import { PYTHON, whyNoDask } from '../test/dask/cluster.ts';
import { attachTo, rowsOf } from '../test/dask/record.ts';
import { eventually } from '../test/made/eventually.ts';
import { medianInterval, pairedExtra } from './paired.ts';
import type { Row } from './row.ts';

const BLOCKS = path.join(import.meta.dirname, 'dask-blocks.py');

export interface DaskBenchOptions {
  /** Groups of four blocks of tasks: without, with, with, without attach. */
  groups?: number;
  /** Of a block. */
  tasks?: number;
  /** Of the recording that is written without a cluster. */
  recorded?: number;
}

const WORKERS = 2;
/** Blocks of each rival. */
const RIVAL_BLOCKS = 5;

/** What recording a Dask cluster costs it, beside Dask's own recorders, and how large and quick a recording is. */
export async function bench(options: DaskBenchOptions = {}): Promise<Row[]> {
  const stored = await storage(options.recorded ?? 1_000_000);
  return whyNoDask ? stored : [...(await cost(options)), ...stored];
}

async function cost({ groups = 12, tasks = 2100 }: DaskBenchOptions): Promise<Row[]> {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-bench-'));
  const cluster = await startBlocks(folder);
  const alone: Block[] = [];
  const ours: Block[] = [];
  // performance_report draws with Bokeh, which Debian does not have
  const hasBokeh = spawnSync(PYTHON, ['-c', 'import bokeh']).status === 0;
  const rivals = { MemorySampler: [] as Block[], ...(hasBokeh && { performance_report: [] as Block[] }) };
  const samples: number[] = [];
  const accounts: number[][] = [];
  try {
    await cluster.run('plain', tasks);
    for (let i = 0; i < groups; i++) {
      alone.push(await cluster.run('plain', tasks));
      const attached = await attachTo(cluster.file, path.join(folder, String(i)), { intervalSeconds: 0.2 });
      // what setting up costs is no cost of a task
      await eventually('a sample of each worker', () => sampledWorkers(attached.recording) === WORKERS);
      for (let j = 0; j < 2; j++) ours.push(await cluster.run('plain', tasks));
      accounts.push((await cluster.account(tasks)).map((seconds) => (seconds / tasks) * 1e6));
      attached.detach('detached');
      await attached.ended;
      for (const { sample_us } of rowsOf(attached.recording, 'dask_worker')) samples.push(Number(sample_us));
      alone.push(await cluster.run('plain', tasks));
      if (i >= RIVAL_BLOCKS) continue;
      rivals.MemorySampler.push(await cluster.run('sampler', tasks));
      rivals.performance_report?.push(await cluster.run('report', tasks));
    }
  } finally {
    await cluster.end();
    fs.rmSync(folder, { recursive: true, force: true });
  }
  const wall = (blocks: readonly Block[]): number[] => blocks.map(({ seconds }) => seconds);
  const cpu = (blocks: readonly Block[]): number[] => blocks.map(({ cpuSeconds }) => (cpuSeconds / tasks) * 1e6);
  const all = (blocks: readonly Block[]): number[] => blocks.map(({ allSeconds }) => (allSeconds / tasks) * 1e6);
  const time = pairedExtra(wall(alone), wall(ours));
  const scheduler = pairedExtra(cpu(alone), cpu(ours));
  const bare = median(cpu(alone));
  const whole = pairedExtra(all(alone), all(ours));
  const added = accounts.map((accountShares) => accountShares.reduce((sum, share) => sum + share, 0));
  const between = ([low, high]: readonly [number, number], scale: number): string =>
    `${(low * scale).toFixed(1)} to ${(high * scale).toFixed(1)}`;
  return [
    {
      what: `Dask: ${(tasks * groups * 4).toLocaleString('en-US')} tasks, time with attach (% more: ${between(time.quartiles, 1)})`,
      must: '≤ 1.03 ×',
      measured: tasks / median(wall(ours)),
      unit: 'tasks/s',
      peer: `without ${(tasks / median(wall(alone))).toFixed(0)} tasks/s`,
      ratio: 1 + time.median / 100,
    },
    {
      // where others use the CPUs, the time says more of them
      what: `Dask: CPU time of scheduler, workers and client with attach, per task (% more: ${between(whole.quartiles, 1)})`,
      must: '≤ 1.03 ×',
      measured: median(all(ours)),
      unit: 'µs',
      peer: `without ${median(all(alone)).toFixed(0)} µs`,
      ratio: 1 + whole.median / 100,
    },
    ...Object.entries(rivals).map(([name, blocks]) => ({
      what: `Dask: the same with ${name}`,
      must: '',
      measured: median(all(blocks)),
      unit: 'µs',
      peer: `attach ${median(all(ours)).toFixed(0)} µs, ${(median(wall(blocks)) / median(wall(ours))).toFixed(2)} × its time`,
      ratio: median(all(blocks)) / median(all(ours)),
    })),
    {
      what: 'Dask: the same with dask-metrics',
      must: '',
      measured: Number.NaN,
      unit: 'not on PyPI or in Debian',
      peer: '',
      ratio: Number.NaN,
    },
    {
      what: `Dask: CPU time that attach adds in the scheduler, per task (µs, 95 %: ${between(medianInterval(added), 1)})`,
      must: '≤ 5 µs',
      measured: median(added),
      unit: 'µs',
      peer: `without ${bare.toFixed(0)} µs a task`,
      ratio: 1 + median(added) / bare,
    },
    ...['steps of tasks', 'graphs', 'the feed', 'samples'].map((costName, i) => ({
      what: `Dask: of that, ${costName}`,
      must: '',
      measured: median(accounts.map((each) => each[i]!)),
      unit: 'µs',
      peer: '',
      ratio: Number.NaN,
    })),
    {
      // the difference of two large figures, which may tell of anything else: caches, garbage collection
      what: `Dask: the scheduler with attach, less without (µs, 95 %: ${between(scheduler.interval, bare / 100)})`,
      must: '',
      measured: (scheduler.median / 100) * bare,
      unit: 'µs',
      peer: '',
      ratio: 1 + scheduler.median / 100,
    },
    {
      what: 'Dask: CPU time of a sample in a worker',
      must: '≤ 50 µs',
      measured: median(samples),
      unit: 'µs',
      peer: '',
      ratio: Number.NaN,
    },
  ];
}

const sampledWorkers = (recording: string): number =>
  new Set(rowsOf(recording, 'dask_worker').map(({ worker }) => worker)).size;

interface Block {
  seconds: number;
  /** Of the scheduler. */
  cpuSeconds: number;
  /** Of the scheduler, the workers and the client. */
  allSeconds: number;
}

/** A cluster whose scheduler, workers and client are processes of their own, so that the scheduler's CPU time is only its own. */
async function startBlocks(folder: string) {
  const file = path.join(folder, 'scheduler.json');
  const start = (name: string, args: string[], stdio: StdioOptions): ChildProcess => {
    const script = name === 'blocks' ? [BLOCKS] : ['-m', `distributed.cli.dask_${name}`];
    const env = { ...process.env, PYTHONWARNINGS: 'ignore', REPORT: path.join(folder, 'report.html') };
    return spawn(PYTHON, [...script, ...args], { cwd: folder, stdio, env });
  };
  const there = ['--scheduler-file', file, '--no-dashboard'];
  const scheduler = start('scheduler', [...there, '--host', '127.0.0.1', '--port', '0'], 'ignore');
  const workers = start('worker', [...there, '--nworkers', String(WORKERS), '--nthreads', '2'], 'ignore');
  const client = start('blocks', [file, String(WORKERS)], ['pipe', 'pipe', 'inherit']);
  const lines = readline.createInterface({ input: client.stdout! })[Symbol.asyncIterator]();
  const next = async (): Promise<string> => {
    const { value, done } = await lines.next();
    if (done) throw new Error('the client of the cluster has ended');
    return value as string;
  };
  await next();
  const ask = async (kind: string, tasks: number): Promise<number[]> => {
    client.stdin!.write(`${kind} ${tasks}\n`);
    return (await next()).split(' ').map(Number);
  };
  const used = (): [scheduler: number, all: number] => {
    const [first, ...others] = [scheduler, workers, client].map(({ pid }) => treeSeconds(pid!));
    return [first!, others.reduce((sum, each) => sum + each, first!)];
  };
  return {
    file,
    async run(kind: 'plain' | 'sampler' | 'report', tasks: number): Promise<Block> {
      const [schedulerBefore, allBefore] = used();
      const [seconds] = await ask(kind, tasks);
      const [schedulerAfter, allAfter] = used();
      return { seconds: seconds!, cpuSeconds: schedulerAfter - schedulerBefore, allSeconds: allAfter - allBefore };
    },
    /** Of a block with an attached monitor: seconds on a CPU that the scheduler spends for it, by what it does. */
    account: (tasks: number): Promise<number[]> => ask('account', tasks),
    async end(): Promise<void> {
      client.stdin!.end();
      for (const child of [client, workers, scheduler]) {
        if (child !== client) child.kill('SIGTERM');
        await ended(child);
      }
    },
  };
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const timer = setTimeout(() => child.kill('SIGKILL'), 20_000);
  await new Promise((resolve) => child.once('exit', resolve));
  clearTimeout(timer);
}

/** Time on a CPU of all threads of a process and its children: finer than the hundredths of a second of /proc/PID/stat. */
function treeSeconds(pid: number): number {
  return fs.readdirSync(`/proc/${pid}/task`).reduce((sum, id) => {
    const read = (name: string): string[] => fs.readFileSync(`/proc/${pid}/task/${id}/${name}`, 'utf8').split(' ');
    const children = read('children').filter((child) => child.trim() !== '');
    return (
      sum + Number(read('schedstat')[0]) / 1e9 + children.reduce((all, child) => all + treeSeconds(Number(child)), 0)
    );
  }, 0);
}

/** Tasks as a large map would have them: keys are hashes, which cannot be made much smaller. */
async function storage(tasks: number): Promise<Row[]> {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-bench-'));
  try {
    const node = path.join(folder, 'node=bench');
    fs.mkdirSync(node);
    const start = 1_790_000_000;
    const writer = new DaskWriter(node, { plain: true });
    writer.event({ time: start, event: 'start', name: 'tasks, total-mem, mem-util, compute-util' });
    let clock = start;
    for (let i = 0; i < tasks; i++) {
      clock += 0.0005 + (i % 97) * 1e-6;
      const worker = `tcp://10.0.0.${i % 16}:40000`;
      const seconds = 0.004 + ((i * 7919) % 1000) / 1e6;
      const key = `inc-${createHash('md5').update(String(i)).digest('hex')}`;
      writer.task(
        { key, worker, start: clock - seconds, stop: clock, outcome: 'ok', bytes: 28, thread: 1 + (i % 4) },
        { job: 1, dag: 0 },
      );
      if (i % 400 !== 0) continue;
      for (let w = 0; w < 16; w++)
        writer.sample(
          {
            ...{
              time: clock,
              worker: `tcp://10.0.0.${w}:40000`,
              name: String(w),
              host: `n${w}`,
              tasks: [key],
              executing: 4,
            },
            ...{
              memory: 1e9 + i * 100,
              cpuMicroseconds: i * 500,
              gpus: [{ device: '0', used: 1e9, total: 8e10, computePercent: i % 100 }],
            },
            metrics: [],
          },
          { job: 1, dag: 0 },
        );
    }
    await writer.close();
    sealRecording(openRecording(folder), { force: true });
    const bytes = fs
      .readdirSync(node)
      .filter((name) => name.startsWith('dask_task'))
      .reduce((sum, name) => sum + fs.statSync(path.join(node, name)).size, 0);
    const began = performance.now();
    daskPeaks(daskSamples(openRecording(folder)).workers, { metric: 'compute-util', workers: [], perJob: true });
    const seconds = (performance.now() - began) / 1000;
    return [
      {
        what: `Dask: ${tasks} tasks sealed, per task`,
        must: '≤ 40 bytes',
        measured: bytes / tasks,
        unit: 'bytes',
        peer: 'the hash in its key 16 bytes',
        ratio: bytes / tasks / 16,
      },
      {
        what: 'Dask: tacho dask peaks on it, without the start of the program',
        must: '≤ 1 s',
        measured: seconds,
        unit: 's',
        peer: '',
        ratio: Number.NaN,
      },
    ];
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[sorted.length >> 1] ?? Number.NaN;
}
