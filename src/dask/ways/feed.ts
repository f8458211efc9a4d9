import { setTimeout as sleep } from 'node:timers/promises';
import { Fault, reason } from '../../base/fault.ts';
import { inTime } from '../../base/in-time.ts';
import type { SchedulerAddress } from '../address.ts';
import { feedMessage } from '../code/scheduler.ts';
import type { SamplerOptions } from '../code/worker.ts';
import { Comm, type ConnectOptions } from '../comm.ts';
import type { GpuValue, Listener, MetricValue, Outcome, TaskEnded, Way, WorkerSample } from '../events.ts';
import { keyText, type Packed, unpack } from '../msgpack.ts';
import { versionOf } from '../version.ts';

/** The scheduler cannot be listened to this way: another one may do. */
export class NoFeed extends Fault {}

/** How often the scheduler hands over what has happened: each time costs it as much as half a task. */
const STEP_SECONDS = 0.4;
/** A worker of few sends its samples at least so often; then the scheduler has them. */
const SAMPLES_MS = 1200;
/** What a sample needs to the scheduler once its worker sends it. */
const ON_WAY_MS = 400;
/** What a scheduler needs until its first answer, with all workers busy. */
const FIRST_MS = 60_000;

interface Step {
  now: number;
  events: Packed[][];
  /** Columns of tasks that ended. */
  tasks: Packed[][][];
  lost: number;
}

/** The best way: the scheduler runs a plugin of ours as long as the connection lasts, and every worker a sampler. */
export async function openFeed(
  address: SchedulerAddress,
  options: SamplerOptions & ConnectOptions,
  listener: Listener,
): Promise<Way> {
  const comm = await Comm.open(address, options.certificates, options);
  await versionOf(comm, address.text).catch((error: unknown) => {
    comm.close();
    throw error;
  });
  comm.send(feedMessage(options, STEP_SECONDS));
  let first: Packed | undefined;
  try {
    first = await inTime(FIRST_MS, comm.read());
  } catch (error) {
    comm.close();
    throw new NoFeed(`the scheduler refuses its feed: ${reason(error)}`, { cause: error });
  }
  const firstStep = stepOf(first);
  if (firstStep === undefined) {
    comm.close();
    throw new NoFeed(`the scheduler refuses its feed: ${refusal(first)}`);
  }
  /** Workers of many send more rarely, and say how often. */
  let samplesMs = SAMPLES_MS;
  const hearStep = (step: Step): void => {
    hear(step, listener);
    for (const [kind, , about] of step.events)
      if (kind === 'rows') samplesMs = Math.max(samplesMs, (number(list(about)[5]) ?? 0) * 1000 + ON_WAY_MS);
  };
  hearStep(firstStep);
  let isOver = false;
  let steps = 0;
  const run = async (): Promise<string> => {
    for (;;) {
      try {
        const step = stepOf(await comm.read());
        if (step !== undefined) hearStep(step);
        steps++;
      } catch (error) {
        return isOver ? 'detached' : reason(error);
      }
    }
  };
  const ended = run();
  /** The next step may have been on its way already; the one after it was not. */
  async function catchUp(): Promise<void> {
    const before = steps;
    for (let i = 0; i < 600 && steps < before + 2 && (await inTime(50, ended)) === undefined; i++);
  }
  return {
    name: 'feed',
    missing: [],
    ended,
    catchUp,
    async settle() {
      await inTime(samplesMs, ended);
      await catchUp();
    },
    async close() {
      isOver = true;
      comm.close();
      // the scheduler notices with its next step
      await sleep(STEP_SECONDS * 2000);
    },
  };
}

/** What the plugin says, packed in a message of Dask. */
function stepOf(message: Packed | undefined): Step | undefined {
  if (typeof message !== 'object' || message === null || !('tacho' in message) || message.tacho !== 1) return;
  return message.body instanceof Uint8Array ? (unpack(message.body) as unknown as Step) : undefined;
}

function refusal(message: Packed | undefined): string {
  if (message === undefined) return 'no answer within 60 s';
  if (message === null) return 'its setting distributed.scheduler.pickle is off';
  const { text, exception } = (typeof message === 'object' ? message : {}) as Record<string, Packed>;
  const refusalText =
    typeof text === 'string' ? text : exception instanceof Uint8Array ? 'an exception' : 'not understood';
  return refusalText.slice(0, 300);
}

const number = (value: Packed | undefined): number | undefined => (typeof value === 'number' ? value : undefined);
const text = (value: Packed | undefined): string => (typeof value === 'string' ? value : '');
const list = (value: Packed | undefined): Packed[] => (Array.isArray(value) ? value : []);

/** Of the samples of a worker, which the scheduler hands on as they are. */
const rowsOf = (packed: Packed | undefined): Packed[] => (packed instanceof Uint8Array ? list(unpack(packed)) : []);

const OUTCOMES: readonly Outcome[] = ['ok', 'erred', 'lost'];

function hear({ events, tasks, lost }: Step, listener: Listener): void {
  for (const event of events) hearEvent(event, listener);
  for (const columns of tasks) for (let i = 0; i < columns[0]!.length; i++) listener.task(taskOf(columns, i));
  if (lost > 0) listener.lost(lost);
}

function taskOf(columns: Packed[][], i: number): TaskEnded {
  const [key, worker, start, stop, bytes, thread, more, graph, shift] = columns.map((column) => column[i]);
  const [transfer, disk, outcome, error] = list(more);
  const task: TaskEnded = {
    key: keyText(key!),
    worker: text(worker),
    stop: number(stop)!,
    outcome: OUTCOMES[number(outcome) ?? 0]!,
  };
  if (typeof start === 'number') {
    const seconds = number(shift) ?? 0;
    task.start = start + seconds;
    task.stop += seconds;
  }
  if (typeof error === 'string') task.error = error;
  if (typeof transfer === 'number') task.transferSeconds = transfer;
  if (typeof disk === 'number') task.diskSeconds = disk;
  if (typeof bytes === 'number' && bytes >= 0) task.bytes = bytes;
  if (typeof thread === 'number') task.thread = thread;
  if (typeof graph === 'number') task.graph = graph;
  return task;
}

function hearEvent(event: Packed[], listener: Listener): void {
  const [kind] = event;
  if (kind === 'rows') {
    const [, worker, about, rows, notes] = event;
    for (const note of list(notes)) listener.note(text(note), text(worker));
    for (const row of rowsOf(rows)) listener.sample(sampleOf(text(worker), list(about), list(row)));
  } else if (kind === 'graph') {
    const [, time, client, graph, keys, wanted, count] = event;
    listener.graph({
      time: number(time)!,
      client: text(client),
      graph: number(graph)!,
      wantedKeys: list(keys).map(keyText),
      wanted: number(wanted) ?? 0,
      tasks: number(count) ?? 0,
    });
  } else if (kind === 'client' || kind === 'client-gone') {
    listener.client(number(event[1])!, text(event[2]), kind === 'client');
  } else if (kind === 'worker' || kind === 'worker-gone') {
    listener.worker(number(event[1])!, text(event[2]), kind === 'worker');
  } else if (kind === 'hello') {
    const [, version, scheduler, workers, clients] = event;
    listener.facts({
      version: text(version),
      scheduler: text(scheduler),
      workers: list(workers).map((each) => ({ address: text(list(each)[0]), name: text(list(each)[1]) })),
      clients: list(clients).map(text),
    });
  } else if (kind === 'failed') listener.note(`workers take no sampler: ${text(event[1])}`);
}

function sampleOf(worker: string, about: Packed[], row: Packed[]): WorkerSample {
  const [name, host, pid, threads, limit] = about;
  const [
    time,
    keys,
    executing,
    ready,
    fetching,
    stored,
    memory,
    managed,
    spilled,
    cpu,
    received,
    sent,
    gpus,
    values,
    cost,
  ] = row;
  const sample: WorkerSample = {
    time: number(time)!,
    worker,
    name: text(name),
    host: text(host),
    tasks: list(keys).map(keyText),
    gpus: list(gpus).map((each) => gpuOf(list(each))),
    metrics: metricsOf(values),
  };
  const numbers = { pid, threads, limit, executing, ready, fetching, stored, memory, managed, spilled, received, sent };
  for (const [field, value] of Object.entries({ ...numbers, cpuMicroseconds: cpu, sampleMicroseconds: cost }))
    if (typeof value === 'number') (sample as unknown as Record<string, number>)[field] = value;
  return sample;
}

function gpuOf([device, used, total, compute]: Packed[]): GpuValue {
  const gpu: GpuValue = { device: text(device) };
  if (typeof used === 'number') gpu.used = used;
  if (typeof total === 'number') gpu.total = total;
  if (typeof compute === 'number') gpu.computePercent = compute;
  return gpu;
}

function metricsOf(values: Packed | undefined): MetricValue[] {
  if (typeof values !== 'object' || values === null || Array.isArray(values) || values instanceof Uint8Array) return [];
  return Object.entries(values).flatMap(([metric, devices]) =>
    list(devices).map((each): MetricValue => {
      const [device, value] = list(each);
      return {
        metric,
        device: text(device),
        value: typeof value === 'number' || typeof value === 'string' ? value : undefined,
      };
    }),
  );
}
