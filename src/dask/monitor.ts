import { listed } from '../base/readable.ts';
import { stated } from '../base/stated.ts';
import { type CustomMetric, computeCustom } from './custom-module.ts';
import { type DaskWriter, graphName } from './dask-writer.ts';
import type { ClusterFacts, GraphCame, Listener, TaskEnded, Way, WorkerSample } from './events.ts';
import { JobNumbers, type JobType } from './job-numbers.ts';

/** Different things that could not be measured; more of them are the same again. */
const MOST_NOTES = 100;

export interface MonitorStatus {
  recording: boolean;
  version: string;
  job_type: JobType;
  job: number;
  dag: number;
  tasks: number;
  samples: number;
  graphs: number;
  workers: { address: string; name: string }[];
  clients: string[];
  lost_events: number;
  notes: string[];
}

export const WAYS = {
  feed: 'the scheduler’s feed',
  calls: 'read-only calls',
  'event stream': 'the dashboard’s event stream',
} as const;

function noteText(text: string, workers: readonly string[]): string {
  if (workers.length === 0) return text;
  return `${workers.length === 1 ? 'worker' : 'workers'} ${listed(workers)}: ${text}`;
}

/** Listens to a cluster, numbers its jobs and graphs, and has written down what happens while it records. */
export class Monitor implements Listener {
  readonly numbers: JobNumbers;
  isRecording = false;
  /** What is not measured, and on which workers; none: not on one alone. */
  private readonly notes = new Map<string, Set<string>>();
  private writer: DaskWriter | undefined;
  /** What was told before there was a writer. */
  private early: (() => void)[] = [];
  private readonly custom: readonly CustomMetric[];
  private readonly tracking: readonly string[];
  private readonly say: (text: string) => void;
  private version = '';
  private way: Way['name'] | undefined;
  private readonly workers = new Map<string, string>();
  private readonly clients = new Set<string>();
  private lostEvents = 0;

  constructor(options: {
    jobType: JobType;
    custom: readonly CustomMetric[];
    tracking: readonly string[];
    say: (text: string) => void;
  }) {
    this.numbers = new JobNumbers(options.jobType);
    this.custom = options.custom;
    this.tracking = options.tracking;
    this.say = options.say;
  }

  /** From here on it is written; what was told before comes first. */
  writeTo(writer: DaskWriter): void {
    this.writer = writer;
    for (const event of this.early.splice(0)) event();
  }

  start(time = Date.now() / 1000): void {
    if (this.isRecording) return;
    this.isRecording = true;
    this.writer?.event({ time, event: 'start', name: this.tracking.join(', '), jobAndGraph: this.numbers.current });
    this.writer?.flush();
  }

  stop(time = Date.now() / 1000): void {
    if (!this.isRecording) return;
    this.writer?.event({ time, event: 'stop', jobAndGraph: this.numbers.current });
    this.writer?.flush();
    this.isRecording = false;
  }

  newJob(job?: number): number {
    const number = this.numbers.newJob(job);
    this.writer?.event({ time: Date.now() / 1000, event: 'job', jobAndGraph: this.numbers.current });
    return number;
  }

  status(): MonitorStatus {
    const { tasks = 0, samples = 0, graphs = 0 } = this.writer?.rows ?? {};
    return {
      recording: this.isRecording,
      version: this.version,
      job_type: this.numbers.type,
      ...this.numbers.current,
      tasks,
      samples,
      graphs,
      workers: [...this.workers].map(([address, name]) => ({ address, name })),
      clients: [...this.clients],
      lost_events: this.lostEvents,
      notes: [...this.notes].map(([text, workers]) => noteText(text, [...workers].map(this.nameOf))),
    };
  }

  /** The way in that was taken, and what it lacks. */
  wayIn({ name, missing }: Pick<Way, 'name' | 'missing'>): void {
    if (this.way === name) return;
    this.way = name;
    const time = Date.now() / 1000;
    this.soon((writer) => {
      writer.event({ time, event: 'way', name: WAYS[name] });
      for (const what of missing) writer.event({ time, event: 'missing', name: what });
    });
  }

  facts({ version, workers, clients }: ClusterFacts): void {
    if (version !== '') this.version = version;
    this.workers.clear();
    this.clients.clear();
    for (const { address, name } of workers) this.workers.set(address, name);
    for (const client of clients) this.clients.add(client);
    const time = Date.now() / 1000;
    this.soon((writer) => {
      for (const { address, name } of workers) writer.event({ time, event: 'worker', worker: address, name });
    });
  }

  task(task: TaskEnded): void {
    this.soon((writer) => {
      if (this.isRecording) writer.task(task, this.numbers.placeOf(task.graph));
    });
  }

  graph(graph: GraphCame): void {
    this.soon((writer) => {
      const jobAndGraph = this.numbers.graph(graph);
      if (!this.isRecording) return;
      const { time, client, wanted, tasks } = graph;
      const counts = { ...(wanted !== undefined && { wanted }), ...(tasks !== undefined && { tasks }) };
      writer.event({ time, event: 'graph', client, name: graphName(graph.wantedKeys), ...counts, jobAndGraph });
    });
  }

  client(time: number, client: string, came: boolean): void {
    if (came) this.clients.add(client);
    else this.clients.delete(client);
    this.soon((writer) => {
      if (this.isRecording) writer.event({ time, event: came ? 'client' : 'client-gone', client });
    });
  }

  worker(time: number, address: string, came: boolean): void {
    const name = this.workers.get(address) ?? '';
    if (came) this.workers.set(address, name);
    else this.workers.delete(address);
    this.soon((writer) => {
      if (this.isRecording) writer.event({ time, event: came ? 'worker' : 'worker-gone', worker: address, name });
    });
  }

  sample(sample: WorkerSample): void {
    if (sample.name !== '' && this.workers.has(sample.worker)) this.workers.set(sample.worker, sample.name);
    this.soon((writer) => {
      if (!this.isRecording) return;
      const metrics = computeCustom(this.custom, sample, (text) => this.note(text));
      writer.sample({ ...sample, metrics: [...sample.metrics, ...metrics] }, this.numbers.current);
    });
  }

  note(text: string, worker?: string): void {
    const workers = this.notes.get(text);
    // what all workers say is said once
    if (workers !== undefined) {
      if (worker !== undefined) workers.add(worker);
      return;
    }
    if (this.notes.size >= MOST_NOTES) return;
    this.notes.set(text, new Set(worker === undefined ? [] : [worker]));
    this.say(worker === undefined ? text : noteText(text, [this.nameOf(worker)]));
    const time = Date.now() / 1000;
    this.soon((writer) => writer.event({ time, event: 'note', name: text, ...stated({ worker }) }));
  }

  private readonly nameOf = (worker: string): string => this.workers.get(worker) || worker;

  lost(events: number): void {
    this.lostEvents += events;
    this.note('the scheduler gave up events because this monitor did not read them in time');
  }

  private soon(write: (writer: DaskWriter) => void): void {
    if (this.writer !== undefined) write(this.writer);
    else this.early.push(() => write(this.writer!));
  }
}
