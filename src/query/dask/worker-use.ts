import type { NodeRecording } from '../../recording/folder/open.ts';
import { textAt } from '../../recording/read/batch.ts';
import { readDefined } from '../../recording/read/read.ts';
import { daskGpuTable, daskWorkerTable } from '../../sources/own/dask.ts';

/** What a worker used over time: one entry per sample; NaN is missing. */
export interface WorkerUse {
  worker: string;
  name: string;
  host: string;
  pid: number;
  threads: number;
  limit: number;
  /** Epoch microseconds, rising. */
  times: Float64Array;
  /** CPU time so far, in microseconds. */
  cpu: Float64Array;
  memory: Float64Array;
  managed: Float64Array;
  spilled: Float64Array;
  executing: Float64Array;
  ready: Float64Array;
  received: Float64Array;
  sent: Float64Array;
  /** Mean over its GPUs, and their memory together; undefined: it has none. */
  gpu?: { compute: Float64Array; memory: Float64Array };
}

/** The samples of all workers of a monitor, by address. */
export function workerUse(node: NodeRecording): Map<string, WorkerUse> {
  const workers = new Map<string, WorkerUse>();
  if (!node.tables.has(daskWorkerTable.name)) return workers;
  const columns = [
    ...(['name', 'host', 'pid', 'threads', 'limit_bytes', 'cpu_us', 'memory_bytes', 'managed_bytes'] as const),
    ...(['spilled_bytes', 'executing', 'ready', 'received_bytes', 'sent_bytes'] as const),
  ];
  const batch = readDefined(node, daskWorkerTable, { columns });
  const missing = new Float64Array(batch.rows).fill(Number.NaN);
  for (let s = 0; s + 1 < batch.series.length; s++) {
    const [from, to] = [batch.series[s]!, batch.series[s + 1]!];
    if (from === to) continue;
    const all = (name: (typeof columns)[number]) => (batch.numbers.get(name) ?? missing).subarray(from, to);
    workers.set(textAt(batch, 'worker', from), {
      worker: textAt(batch, 'worker', from),
      name: textAt(batch, 'name', to - 1),
      host: textAt(batch, 'host', to - 1),
      pid: all('pid').at(-1)!,
      threads: all('threads').at(-1)!,
      limit: all('limit_bytes').at(-1)!,
      times: batch.time.subarray(from, to),
      cpu: all('cpu_us'),
      memory: all('memory_bytes'),
      managed: all('managed_bytes'),
      spilled: all('spilled_bytes'),
      executing: all('executing'),
      ready: all('ready'),
      received: all('received_bytes'),
      sent: all('sent_bytes'),
    });
  }
  addGpus(node, workers);
  return workers;
}

function addGpus(node: NodeRecording, workers: Map<string, WorkerUse>): void {
  if (!node.tables.has(daskGpuTable.name)) return;
  const batch = readDefined(node, daskGpuTable, { columns: ['used_bytes', 'compute_percent'] });
  const busy = batch.numbers.get('compute_percent');
  const used = batch.numbers.get('used_bytes');
  const devices = new Map<string, number>();
  for (let s = 0; s + 1 < batch.series.length; s++) {
    const worker = workers.get(textAt(batch, 'worker', batch.series[s]!));
    if (worker === undefined) continue;
    const size = worker.times.length;
    worker.gpu ??= {
      compute: new Float64Array(size).fill(Number.NaN),
      memory: new Float64Array(size).fill(Number.NaN),
    };
    const device = (devices.get(worker.worker) ?? 0) + 1;
    devices.set(worker.worker, device);
    let at = 0;
    for (let row = batch.series[s]!; row < batch.series[s + 1]!; row++) {
      while (at < size && worker.times[at]! < batch.time[row]!) at++;
      if (at === size || worker.times[at] !== batch.time[row]) continue;
      const { compute, memory } = worker.gpu;
      // the mean of the devices so far
      const before = compute[at]!;
      const now = busy?.[row] ?? Number.NaN;
      compute[at] = Number.isNaN(before) ? now : before + (now - before) / device;
      memory[at] = (Number.isNaN(memory[at]!) ? 0 : memory[at]!) + (used?.[row] ?? Number.NaN);
    }
  }
}
