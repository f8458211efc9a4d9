import * as fs from 'node:fs';
import * as path from 'node:path';
import { DaskWriter } from '../../src/dask/dask-writer.ts';
import type { WorkerSample } from '../../src/dask/events.ts';
import { cpuTable } from '../../src/sources/tables.ts';
import { agentOf, jobOf, START, temporary } from '../make-recording.ts';

const MiB = 2 ** 20;
const WORKERS = ['tcp://10.0.0.1:4000', 'tcp://10.0.0.2:4000'] as const;

export interface MadeDask {
  id?: string;
  /** How long each task `load` takes, in seconds. */
  load?: number;
  /** The GPUs of each sample, counted from 0. */
  gpusAt?: (sample: number) => WorkerSample['gpus'];
  /** Without CPU times, as read-only calls record it. */
  withoutCpu?: boolean;
  /** Of a task that is lost with the first worker, at the end. */
  lostKey?: string;
}

/**
 * A cluster of two workers with a thread each: 20 tasks `load` one after the other, two of them again, then one `sum` of 1 s
 * on the first worker and a `fail` on the second, which spills 64 MiB.
 */
export async function daskRecording({
  id = '17',
  load = 0.5,
  gpusAt = () => [],
  withoutCpu = false,
  lostKey,
}: MadeDask = {}): Promise<string> {
  const folder = path.join(temporary(), `tacho-${id}`);
  const node = path.join(folder, 'node=c1');
  fs.mkdirSync(node, { recursive: true });
  const writer = new DaskWriter(node, { plain: true });
  const begin = START / 1e6;
  const jobAndGraph = { job: 1, dag: 0 };
  writer.event({ time: begin, event: 'start', name: 'tasks, total-mem, mem-util, compute-util' });
  writer.event({ time: begin, event: 'graph', name: 'sum', wanted: 1, tasks: 22, jobAndGraph });
  const end = begin + 11 * load + 1;
  WORKERS.forEach((worker, w) => {
    let clock = begin;
    const add = (key: string, seconds: number, more: object = {}): void => {
      writer.task(
        { key, worker, start: clock, stop: clock + seconds, outcome: 'ok', thread: 1, bytes: 8, ...more },
        jobAndGraph,
      );
      clock += seconds;
    };
    for (let i = 0; i < 11; i++) add(`load-${w}${i % 10}`, load);
    if (w === 0 && lostKey !== undefined) add(lostKey, 1, { outcome: 'lost' });
    else if (w === 0) add('sum-1', 1);
    else add('fail-1', 1, { outcome: 'erred', error: 'ValueError' });
    for (let time = begin, sample = 0; time <= end; time += 0.5, sample++)
      writer.sample(
        {
          ...{ time, worker, name: String(w), host: 'c1', pid: 10 + w, threads: 1, limit: 1024 * MiB, executing: 1 },
          ...{ memory: 512 * MiB, managed: MiB, spilled: w === 1 && time > begin + 1 ? 64 * MiB : 0 },
          ...(!withoutCpu && { cpuMicroseconds: (time - begin) * 1e6 }),
          ...{ gpus: gpusAt(sample), metrics: [] },
        },
        jobAndGraph,
      );
  });
  await writer.close();
  const job = jobOf({ id, nodes: ['c1'], start: START, end: Math.round(end * 1e6), interval_seconds: 0.5 });
  fs.writeFileSync(path.join(folder, 'job.json'), JSON.stringify(job));
  // no agent describes what the monitor writes
  fs.writeFileSync(path.join(node, 'agent.json'), JSON.stringify(agentOf('c1', [cpuTable])));
  return folder;
}
