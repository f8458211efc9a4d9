/** What any way into a cluster tells. Times are epoch seconds by the scheduler's clock; undefined is not known. */

export type Outcome = 'ok' | 'erred' | 'lost';

export interface TaskEnded {
  key: string;
  worker: string;
  start?: number;
  stop: number;
  outcome: Outcome;
  error?: string;
  transferSeconds?: number;
  diskSeconds?: number;
  bytes?: number;
  /** Python's identifier of the thread. */
  thread?: number;
  /** The graph that it came with, counted by the way. */
  graph?: number;
}

export interface GraphCame {
  time: number;
  client: string;
  graph?: number;
  /** Some of the keys that the client wants. */
  wantedKeys: readonly string[];
  wanted?: number;
  tasks?: number;
}

export interface GpuValue {
  device: string;
  used?: number;
  total?: number;
  computePercent?: number;
}

export interface MetricValue {
  metric: string;
  device: string;
  value: number | string | undefined;
}

export interface WorkerSample {
  time: number;
  worker: string;
  name: string;
  host: string;
  pid?: number;
  threads?: number;
  limit?: number;
  tasks?: readonly string[];
  executing?: number;
  ready?: number;
  fetching?: number;
  stored?: number;
  memory?: number;
  managed?: number;
  spilled?: number;
  cpuMicroseconds?: number;
  received?: number;
  sent?: number;
  sampleMicroseconds?: number;
  gpus: readonly GpuValue[];
  metrics: readonly MetricValue[];
}

export interface ClusterFacts {
  version: string;
  scheduler: string;
  workers: readonly { address: string; name: string }[];
  clients: readonly string[];
}

/** Who listens. */
export interface Listener {
  facts(facts: ClusterFacts): void;
  task(task: TaskEnded): void;
  graph(graph: GraphCame): void;
  client(time: number, name: string, came: boolean): void;
  worker(time: number, address: string, came: boolean): void;
  sample(sample: WorkerSample): void;
  /** Something that keeps a value from being measured, in words; on this worker. */
  note(text: string, worker?: string): void;
  lost(events: number): void;
}

/** A way into a cluster that has been opened. */
export interface Way {
  readonly name: 'feed' | 'calls' | 'event stream';
  /** What this way cannot tell, in words; empty: nothing. */
  readonly missing: readonly string[];
  /** Resolves when the connection has ended, with the reason. */
  readonly ended: Promise<string>;
  /** Resolves once what the scheduler knows now has been told. */
  catchUp(): Promise<void>;
  /** The same, with the samples that workers have taken until now. */
  settle(): Promise<void>;
  close(): Promise<void>;
}
