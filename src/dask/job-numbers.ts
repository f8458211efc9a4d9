import { usage } from '../base/fault.ts';
import type { GraphCame } from './events.ts';

export type JobType = 'client' | 'manual';

export interface JobAndGraph {
  job: number;
  dag: number;
}

/** A task that submits tasks is a client, too: what it submits belongs to the job that runs. */
const isTask = (client: string): boolean => client.includes('Client-worker-');

/**
 * Which job and graph the cluster works on. client: a client gets the next number with its first graph. manual: `newJob` counts.
 * Graphs of a job are counted from 0.
 */
export class JobNumbers {
  readonly type: JobType;
  /** The newest; job 0: none yet. */
  current: JobAndGraph = { job: 0, dag: 0 };
  private last = 0;
  private readonly clients = new Map<string, JobAndGraph>();
  /** manual: the current job has a graph already. */
  private begun = false;
  private readonly graphs = new Map<number, JobAndGraph>();

  constructor(type: JobType) {
    this.type = type;
  }

  graph({ client, graph }: Pick<GraphCame, 'client' | 'graph'>): JobAndGraph {
    this.current = this.next(client);
    if (graph !== undefined) this.graphs.set(graph, this.current);
    return this.current;
  }

  /** Where a task belongs whose graph came while somebody counted. */
  placeOf(graph: number | undefined): JobAndGraph | undefined {
    return graph === undefined ? undefined : this.graphs.get(graph);
  }

  /** Another cluster was recorded into the recording before: its jobs have the numbers up to this one. */
  goOnAfter(last: number): void {
    this.last = last;
  }

  newJob(job?: number): number {
    if (this.type === 'client')
      throw usage('jobs are counted by client: new-job would have no effect', 'attach with --job-type manual');
    this.current = { job: job ?? (this.current.job || this.last) + 1, dag: 0 };
    this.begun = false;
    return this.current.job;
  }

  /** The scheduler counts its graphs anew. */
  forgetGraphs(): void {
    this.graphs.clear();
  }

  private next(client: string): JobAndGraph {
    const { job, dag } = this.current;
    if (isTask(client)) return this.current;
    if (this.type === 'manual') {
      const jobAndGraph = { job, dag: this.begun ? dag + 1 : 0 };
      this.begun = true;
      return jobAndGraph;
    }
    const before = this.clients.get(client);
    const jobAndGraph = before === undefined ? { job: ++this.last, dag: 0 } : { job: before.job, dag: before.dag + 1 };
    this.clients.set(client, jobAndGraph);
    return jobAndGraph;
  }
}
