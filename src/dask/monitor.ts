import { type CustomMetric, computeCustom } from './custom-module.ts';
import { type DaskWriter, graphName } from './dask-writer.ts';
import type { ClusterFacts, GraphCame, Listener, TaskEnded, WorkerSample } from './events.ts';
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

/** Listens to a cluster, numbers its jobs and graphs, and has written down what happens while it records. */
export class Monitor implements Listener {
  readonly numbers: JobNumbers;
  isRecording = false;
  readonly notes = new Set<string>();
  private writer: DaskWriter | undefined;
  /** What was told before there was a writer. */
  private early: (() => void)[] = [];
  private readonly custom: readonly CustomMetric[];
  private readonly tracking: readonly string[];
  private readonly say: (text: string) => void;
  private version = '';
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
    this.writer?.event({ time, event: 'start', name: this.tracking.join(', '), place: this.numbers.current });
    this.writer?.flush();
  }

  stop(time = Date.now() / 1000): void {
    if (!this.isRecording) return;
    this.writer?.event({ time, event: 'stop', place: this.numbers.current });
    this.writer?.flush();
    this.isRecording = false;
  }

  newJob(job?: number): number {
    const number = this.numbers.newJob(job);
    this.writer?.event({ time: Date.now() / 1000, event: 'job', place: this.numbers.current });
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
      notes: [...this.notes],
    };
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
      writer.event({ time, event: 'graph', client, name: graphName(graph.wantedKeys), ...counts, place: jobAndGraph });
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

  note(text: string): void {
    if (this.notes.has(text) || this.notes.size >= MOST_NOTES) return;
    this.notes.add(text);
    this.say(text);
  }

  lost(events: number): void {
    this.lostEvents += events;
    this.note('the scheduler gave up events because this monitor did not read them in time');
  }

  private soon(write: (writer: DaskWriter) => void): void {
    if (this.writer !== undefined) write(this.writer);
    else this.early.push(() => write(this.writer!));
  }
}
