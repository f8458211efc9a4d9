import { Fault } from '../../base/fault.ts';
import { identityOf } from '../address.ts';
import type { Listener, TaskEnded, Way } from '../events.ts';
import { keyText, type Packed } from '../msgpack.ts';

const MISSING = [
  'tasks that erred, were retried or lost',
  'tasks of graphs: job and dag of tasks, and how large a graph is',
  'everything about workers: memory, spilling, executing tasks, GPUs, custom metrics',
  'any other listener of this stream: it has room for one',
];

const OPEN_MS = 10_000;
/** Tasks of which steps are kept until they end. */
const MOST_STARTED = 100_000;

/** The last resort: the stream that the scheduler's web server offers. */
export async function openEventStream(dashboard: string, listener: Listener): Promise<Way> {
  const url = `${dashboard.replace(/^http/, 'ws')}/eventstream`;
  const socket = new WebSocket(url);
  const opened = Promise.withResolvers<void>();
  const closed = Promise.withResolvers<string>();
  const timer = setTimeout(() => opened.reject(new Fault(`no answer from ${url} within 10 s`)), OPEN_MS);
  let isOver = false;
  socket.addEventListener('open', () => opened.resolve());
  socket.addEventListener('error', () => opened.reject(new Fault(`${url} takes no connection`)));
  socket.addEventListener('close', () => closed.resolve(isOver ? 'detached' : `${url} has closed the connection`));
  const steps = new StepsBefore();
  socket.addEventListener('message', ({ data }) => hear(String(data), listener, steps));
  try {
    await opened.promise;
  } finally {
    clearTimeout(timer);
  }
  // the dashboard has no clock of its own: the connection is kept awake
  const ping = setInterval(() => socket.send(JSON.stringify({ name: 'ping' })), 10_000);
  void closed.promise.then(() => clearInterval(ping));
  const identity = await identityOf(dashboard);
  listener.facts({ version: '', scheduler: identity?.address ?? '', workers: identity?.workers ?? [], clients: [] });
  async function settle(): Promise<void> {
    const pong = Promise.withResolvers<void>();
    const heard = ({ data }: MessageEvent): void => {
      if (String(data).includes('"pong"')) pong.resolve();
    };
    socket.addEventListener('message', heard);
    socket.send(JSON.stringify({ name: 'ping' }));
    await Promise.race([pong.promise, closed.promise]);
    socket.removeEventListener('message', heard);
  }
  return {
    name: 'event stream',
    missing: MISSING,
    ended: closed.promise,
    catchUp: settle,
    settle,
    async close() {
      isOver = true;
      socket.close();
      await closed.promise;
    },
  };
}

type StreamEvent = { [key: string]: Packed };

/** What a worker did for a task before it computed it: Dask tells each step by itself, the computing last. */
class StepsBefore {
  private readonly seconds = new Map<string, Pick<TaskEnded, 'transferSeconds' | 'diskSeconds'>>();

  add({ key, worker, action, start, stop }: StreamEvent): void {
    const isTransfer = action === 'transfer';
    if (!(isTransfer || String(action).startsWith('disk')) || typeof start !== 'number' || typeof stop !== 'number')
      return;
    const field = isTransfer ? 'transferSeconds' : 'diskSeconds';
    const task = `${worker} ${keyText(key!)}`;
    const sums = this.seconds.get(task) ?? {};
    sums[field] = (sums[field] ?? 0) + stop - start;
    this.seconds.set(task, sums);
    // of a task that erred the computing is never told
    if (this.seconds.size > MOST_STARTED) this.seconds.delete(this.seconds.keys().next().value!);
  }

  take({ key, worker }: StreamEvent): Pick<TaskEnded, 'transferSeconds' | 'diskSeconds'> {
    const task = `${worker} ${keyText(key!)}`;
    const sums = this.seconds.get(task) ?? {};
    this.seconds.delete(task);
    return sums;
  }
}

function hear(text: string, listener: Listener, steps: StepsBefore): void {
  let event: StreamEvent;
  try {
    event = JSON.parse(text) as StreamEvent;
  } catch {
    listener.note('the event stream sent something that is no JSON');
    return;
  }
  const now = Date.now() / 1000;
  const { name } = event;
  if (name === 'add_worker' || name === 'remove_worker')
    listener.worker(now, String(event.worker), name === 'add_worker');
  else if (name === 'add_client' || name === 'remove_client')
    listener.client(now, String(event.client), name === 'add_client');
  else if (name === 'update_graph') listener.graph({ time: now, client: String(event.client), wantedKeys: [] });
  // Dask puts its own word for the prefix where the name of the event was
  else if (event.action === 'compute') task(event, listener, steps);
  else if (event.action !== undefined) steps.add(event);
}

function task(event: StreamEvent, listener: Listener, steps: StepsBefore): void {
  if (typeof event.stop !== 'number') return;
  const ended: TaskEnded = {
    ...steps.take(event),
    key: keyText(event.key!),
    worker: typeof event.worker === 'string' ? event.worker : '',
    stop: event.stop,
    outcome: 'ok',
  };
  if (typeof event.start === 'number') ended.start = event.start;
  if (typeof event.nbytes === 'number') ended.bytes = event.nbytes;
  if (typeof event.thread === 'number') ended.thread = event.thread;
  listener.task(ended);
}
