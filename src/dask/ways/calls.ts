import { setTimeout as sleep } from 'node:timers/promises';
import { Fault, reason } from '../../base/fault.ts';
import { inTime } from '../../base/in-time.ts';
import { stated } from '../../base/stated.ts';
import { parseScheduler, type SchedulerAddress } from '../address.ts';
import { type Certificates, Comm, type ConnectOptions } from '../comm.ts';
import type { ClusterFacts, Listener, TaskEnded, Way, WorkerSample } from '../events.ts';
import { keyText, type Packed } from '../msgpack.ts';
import { versionOf } from '../version.ts';

type Record = { [key: string]: Packed };

const record = (value: Packed | undefined): Record =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Uint8Array) ? value : {};
const number = (value: Packed | undefined): number | undefined => (typeof value === 'number' ? value : undefined);

/** The scheduler keeps this many of its newest tasks at least; asking again from before the last one loses none. */
const OVERLAP_SECONDS = 5;

export const MISSING = [
  'graphs, and so job and dag of tasks',
  'tasks that were retried, lost with their worker, or erred before they began',
  'CPU time, GPUs and custom metrics of workers',
  'values of workers between their heartbeats (0.5 s and longer)',
];

/**
 * Nothing but questions that Dask's own dashboard and clients ask. The scheduler keeps its own task stream from the first
 * question on, as it does for its dashboard.
 */
export async function openCalls(
  address: SchedulerAddress,
  { certificates, say = () => {}, intervalSeconds }: ConnectOptions & { readonly intervalSeconds: number },
  listener: Listener,
): Promise<Way> {
  const comm = await Comm.open(address, certificates, { say });
  const identity = await comm.ask('identity');
  if (record(identity).type !== 'Scheduler') {
    comm.close();
    throw new Fault(
      `${address.text} is not a Dask scheduler: it says it is ${String(record(identity).type ?? 'nothing')}`,
    );
  }
  const version = await versionOf(comm, address.text).catch((error: unknown) => {
    comm.close();
    throw error;
  });
  listener.facts(factsOf(record(identity), version));
  /** The newest end of a task, by the scheduler's clock; undefined: no task has ended in its memory. */
  let since: number | undefined;
  const seenMarks = new Map<string, number>();
  const knownWorkers = new Set(Object.keys(record(record(identity).workers)));
  let isOver = false;
  let rounds = 0;
  const stacks = new CallStacks(certificates, listener);

  /** The tasks that ended since the last question. */
  async function newTasks(): Promise<TaskEnded[]> {
    const from = since === undefined ? undefined : since - OVERLAP_SECONDS;
    const rows = await comm.ask('get_task_stream', stated({ start: from }));
    const ended: TaskEnded[] = [];
    for (const each of Array.isArray(rows) ? rows : []) {
      const task = taskOf(record(each));
      if (task === undefined || (from !== undefined && task.stop < from)) continue;
      const mark = `${task.key} ${task.worker} ${task.stop}`;
      if (seenMarks.has(mark)) continue;
      seenMarks.set(mark, task.stop);
      ended.push(task);
      since = Math.max(since ?? 0, task.stop);
    }
    for (const [mark, stop] of seenMarks) if (stop < since! - 2 * OVERLAP_SECONDS) seenMarks.delete(mark);
    return ended;
  }

  /** Dask's task stream begins with the first question, unless somebody asked before: what ended until then is not ours. */
  async function passOver(): Promise<void> {
    const newest = await comm.ask('get_task_stream', { count: 1 });
    since = Array.isArray(newest) ? taskOf(record(newest[0]))?.stop : undefined;
    await newTasks();
  }

  async function round(): Promise<void> {
    for (const task of await newTasks()) listener.task(task);
    const now = Date.now() / 1000;
    const workers = record(record(await comm.ask('identity')).workers);
    for (const address of Object.keys(workers)) if (!knownWorkers.has(address)) listener.worker(now, address, true);
    for (const address of knownWorkers) if (workers[address] === undefined) listener.worker(now, address, false);
    knownWorkers.clear();
    for (const address of Object.keys(workers)) knownWorkers.add(address);
    const executing = await stacks.read([...knownWorkers]);
    for (const [address, about] of Object.entries(workers))
      listener.sample(sampleOf(now, address, record(about), executing.get(address)));
  }

  const run = async (): Promise<string> => {
    while (!isOver) {
      const began = performance.now();
      try {
        await round();
        rounds++;
      } catch (error) {
        return isOver ? 'detached' : reason(error);
      }
      await sleep(Math.max(10, intervalSeconds * 1000 - (performance.now() - began)));
    }
    return 'detached';
  };
  await passOver();
  const ended = run();
  async function catchUp(): Promise<void> {
    const before = rounds;
    for (let i = 0; i < 600 && rounds < before + 2 && (await inTime(50, ended)) === undefined; i++);
  }
  return {
    name: 'calls',
    missing: MISSING,
    ended,
    catchUp,
    settle: catchUp,
    async close() {
      isOver = true;
      comm.close();
      stacks.close();
      await ended;
    },
  };
}

/** What executes on each worker, asked from the worker itself; one that cannot be reached from here is noted once. */
class CallStacks {
  private readonly certificates: Certificates;
  private readonly listener: Listener;
  private readonly comms = new Map<string, Comm | undefined>();

  constructor(certificates: Certificates, listener: Listener) {
    this.certificates = certificates;
    this.listener = listener;
  }

  async read(workers: readonly string[]): Promise<Map<string, string[]>> {
    const keysByWorker = await Promise.all(workers.map((worker) => this.one(worker)));
    return new Map(keysByWorker.flatMap((keys, i) => (keys === undefined ? [] : [[workers[i]!, keys] as const])));
  }

  close(): void {
    for (const comm of this.comms.values()) comm?.close();
  }

  private async one(worker: string): Promise<string[] | undefined> {
    try {
      if (!this.comms.has(worker)) {
        this.comms.set(worker, undefined);
        this.comms.set(worker, await Comm.open(parseScheduler(worker), this.certificates));
      }
      const comm = this.comms.get(worker);
      return comm === undefined ? undefined : Object.keys(record(await comm.ask('call_stack'))).map(keyText);
    } catch (error) {
      this.comms.set(worker, undefined);
      this.listener.note(`it cannot be asked what it executes: ${reason(error)}`, worker);
      return undefined;
    }
  }
}

const factsOf = (identity: Record, version: string): ClusterFacts => ({
  version,
  scheduler: String(identity.id ?? ''),
  workers: Object.entries(record(identity.workers)).map(([address, about]) => ({
    address,
    name: String(record(about).name ?? ''),
  })),
  clients: [],
});

function taskOf(row: Record): TaskEnded | undefined {
  const steps = (Array.isArray(row.startstops) ? row.startstops : []).map(record);
  const compute = steps.find(({ action }) => action === 'compute');
  const last = compute ?? steps.at(-1);
  const stop = number(last?.stop);
  if (stop === undefined) return undefined;
  const sum = (isIt: (action: string) => boolean): number | undefined => {
    const matchingSteps = steps.filter(({ action }) => isIt(String(action)));
    return matchingSteps.length === 0
      ? undefined
      : matchingSteps.reduce((seconds, each) => seconds + (number(each.stop) ?? 0) - (number(each.start) ?? 0), 0);
  };
  const task: TaskEnded = {
    key: keyText(row.key!),
    worker: typeof row.worker === 'string' ? row.worker : '',
    stop,
    outcome: row.status === 'OK' ? 'ok' : 'erred',
  };
  const start = number(compute?.start);
  const transfer = sum((action) => action === 'transfer');
  const disk = sum((action) => action.startsWith('disk'));
  if (start !== undefined) task.start = start;
  if (transfer !== undefined) task.transferSeconds = transfer;
  if (disk !== undefined) task.diskSeconds = disk;
  if (typeof row.exception_text === 'string') task.error = row.exception_text.slice(0, 200);
  if (typeof row.nbytes === 'number') task.bytes = row.nbytes;
  if (typeof row.thread === 'number') task.thread = row.thread;
  return task;
}

function sampleOf(now: number, worker: string, about: Record, tasks: string[] | undefined): WorkerSample {
  const metrics = record(about.metrics);
  const counts = record(metrics.task_counts);
  const transfer = record(metrics.transfer);
  const sample: WorkerSample = {
    time: now,
    worker,
    name: String(about.name ?? ''),
    host: typeof about.host === 'string' ? about.host : '',
    gpus: [],
    metrics: [],
  };
  if (tasks !== undefined) sample.tasks = tasks;
  const values = {
    threads: about.nthreads,
    limit: about.memory_limit,
    memory: metrics.memory,
    managed: metrics.managed_bytes,
    spilled: record(metrics.spilled_bytes).disk,
    executing: counts.executing ?? metrics.executing,
    ready: counts.ready ?? metrics.ready,
    fetching: counts.flight ?? metrics.in_flight,
    stored: counts.memory ?? metrics.in_memory,
    sent: transfer.outgoing_bytes_total,
  };
  for (const [field, value] of Object.entries(values))
    if (typeof value === 'number' && !(field === 'limit' && value === 0))
      (sample as unknown as { [field: string]: number })[field] = value;
  return sample;
}
