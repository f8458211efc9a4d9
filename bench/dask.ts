import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { DaskWriter } from '../src/dask/dask-writer.ts';
import { daskPeaks } from '../src/query/dask/peaks.ts';
import { daskSamples } from '../src/query/dask/workers.ts';
import { openRecording } from '../src/recording/folder/open.ts';
import { sealRecording } from '../src/recording/sealed/seal.ts';
import { PYTHON, startCluster, type TestCluster, whyNoDask } from '../test/dask/cluster.ts';
import { attachTo, rowsOf } from '../test/dask/record.ts';
import type { Row } from './row.ts';

export interface DaskBenchOptions {
  /** Runs of each, alternating; the median counts. */
  runs?: number;
  tasks?: number;
  /** Of the recording that is written without a cluster. */
  recorded?: number;
}

/** What recording a Dask cluster costs it, beside Dask's own recorders, and how large and quick a recording is. */
export async function bench(options: DaskBenchOptions = {}): Promise<Row[]> {
  const stored = await storage(options.recorded ?? 1_000_000);
  return whyNoDask ? stored : [...(await cost(options)), ...stored];
}

async function cost({ runs = 5, tasks = 5000 }: DaskBenchOptions): Promise<Row[]> {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-bench-'));
  const cluster = await startCluster({ workers: 2, threads: 2 });
  const env = { TASKS: String(tasks), REPORT: path.join(folder, 'report.html') };
  const alone: Run[] = [];
  const ours: Run[] = [];
  // performance_report draws with Bokeh, which Debian does not have
  const hasBokeh = spawnSync(PYTHON, ['-c', 'import bokeh']).status === 0;
  const rivals: Record<string, Run[]> = { many_with_sampler: [], ...(hasBokeh && { many_with_report: [] }) };
  const samples: number[] = [];
  try {
    await timed(cluster, 'many', env);
    for (let i = 0; i < runs; i++) {
      alone.push(await timed(cluster, 'many', env));
      const attached = await attachTo(cluster.address, path.join(folder, String(i)), { intervalSeconds: 0.2 });
      ours.push(await timed(cluster, 'many', env));
      attached.detach('detached');
      await attached.ended;
      for (const { sample_us } of rowsOf(attached.recording, 'dask_worker')) samples.push(Number(sample_us));
      for (const [name, all] of Object.entries(rivals)) all.push(await timed(cluster, name, env));
    }
  } finally {
    await cluster.end();
    fs.rmSync(folder, { recursive: true, force: true });
  }
  const wall = (all: Run[]): number => median(all.map(({ seconds }) => seconds));
  const cpu = (all: Run[]): number => (median(all.map(({ cpuSeconds }) => cpuSeconds)) / tasks) * 1e6;
  const ratio = wall(ours) / wall(alone);
  return [
    {
      what: `Dask: ${tasks} tasks, time with attach`,
      must: '≤ 1.03 ×',
      measured: tasks / wall(ours),
      unit: 'tasks/s',
      peer: `without ${(tasks / wall(alone)).toFixed(0)} tasks/s`,
      ratio,
    },
    ...Object.entries(rivals).map(([name, all]) => ({
      what: `Dask: the same with ${name === 'many_with_report' ? 'performance_report' : 'MemorySampler'}`,
      must: '',
      measured: tasks / wall(all),
      unit: 'tasks/s',
      peer: `attach ${(tasks / wall(ours)).toFixed(0)} tasks/s`,
      ratio: wall(all) / wall(ours),
    })),
    {
      what: 'Dask: CPU time of the scheduler for attach, per task',
      must: '≤ 5 µs',
      measured: cpu(ours) - cpu(alone),
      unit: 'µs',
      peer: `without ${cpu(alone).toFixed(0)} µs a task`,
      ratio: cpu(ours) / cpu(alone),
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

interface Run {
  seconds: number;
  cpuSeconds: number;
}

async function timed(cluster: TestCluster, name: string, env: Record<string, string>): Promise<Run> {
  const before = cpuOf(cluster.child.pid!);
  const began = performance.now();
  await cluster.run([name], env);
  return { seconds: (performance.now() - began) / 1000, cpuSeconds: cpuOf(cluster.child.pid!) - before };
}

/** User and system time of a process, in seconds; scheduler and client are one in these runs. */
function cpuOf(pid: number): number {
  const fields = fs.readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
  return (Number(fields[11]) + Number(fields[12])) / 100;
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
