import type { Asked, Job, JobState, Step } from '../../recording/folder/job.ts';
import type { Environment, Run } from './command.ts';

/** What a scheduler knows of a job while it runs. What it does not say is not there. */
export interface SchedulerFacts {
  id: string;
  restart?: number;
  cluster?: string;
  name?: string;
  user?: string;
  account?: string;
  partition?: string;
  directory?: string;
  command?: string[];
  nodes: string[];
  asked: Asked;
  per_node?: NonNullable<Job['per_node']>;
  submit?: number;
  /** Of which array it is a task, where nothing else says so. */
  array?: { job: string; task: string };
  /** Of which heterogeneous job it is a component, and which. */
  het?: { job: string; component: string };
}

/** How a job stands or ended, as the scheduler says it. */
export interface Ending {
  state: JobState;
  /** Epoch microseconds. */
  end?: number;
  exit_code?: number;
  signal?: string;
  reason?: string;
  /** It was put back into the queue, and its next run has not started. */
  waits?: true;
  steps?: Step[];
  /** Nodes that were taken out of the job while it went on, and when. */
  taken_nodes?: Record<string, number>;
}

/** One process that starts others: `srun …`, `ssh node …`, or the agent itself. */
export interface Launcher {
  command: string;
  args: string[];
  /** The nodes it serves. */
  nodes: string[];
  env: Record<string, string>;
  /** Its end must end what it started: it gets a standard input that never ends while it lives. */
  lifeline?: boolean;
}

/** What is asked of `launch`: one process on each of these nodes. */
export interface LaunchPlan {
  nodes: readonly string[];
  /** All nodes of the job, in the scheduler's order. */
  jobNodes: readonly string[];
  /** The command for one node, whose name is known. */
  on(node: string): string[];
  /** One command for all nodes, where a shell on the node finds its name: '$SLURMD_NODENAME'. */
  everywhere(name: string): string[];
  env: Environment;
}

/** Says that something could not be learned; the recording goes on without it. */
export type Tell = (what: string, why: string) => void;

/** One way of running jobs. Every call of a command goes through `run`, which never throws and always returns. */
export interface Scheduler {
  readonly name: Job['scheduler'];
  /** The id of the job that this environment belongs to; undefined: not in a job of this scheduler. */
  detect(env: Environment): string | undefined;
  facts(run: Run, env: Environment, tell: Tell): Promise<SchedulerFacts>;
  /** How to start one process on each node, without taking anything from the job. */
  launch(plan: LaunchPlan, jobId: string): Launcher[];
  /** The nodes that a launcher says it could not reach. */
  unreached?(message: string): string[];
  /**
   * Asks the processes of `launch` to end (SIGTERM); `step` is what the agents say they run in. Returns who was asked:
   * the agents, or nobody: then the launcher passes a signal on, or each agent has to be asked on its node.
   */
  stop(
    run: Run,
    jobId: string,
    step: string | undefined,
  ): Promise<'agents' | 'signal the launcher' | 'ask on the nodes'>;
  /** How a job ended, or undefined when the scheduler does not know it. `restart` and `start` tell runs of one id apart. */
  state(run: Run, job: Pick<Job, 'id' | 'restart' | 'start'>, tell: Tell): Promise<Ending | undefined>;
}

/** What a variable says is the id of a job, where it can be one. Paths and empty words are none. */
export const jobId = (text: string | undefined): string | undefined =>
  text !== undefined && /^[^./\s][^/\s]*$/.test(text) ? text : undefined;

/** The value as a whole number, when it is one. */
export function whole(text: string | number | undefined): number | undefined {
  if (text === undefined || text === '') return undefined;
  const n = Number(text);
  return Number.isSafeInteger(n) && n >= 0 ? n : undefined;
}

/** Signals as schedulers number them. */
const SIGNALS: Record<number, string> = {
  1: 'SIGHUP',
  2: 'SIGINT',
  3: 'SIGQUIT',
  4: 'SIGILL',
  6: 'SIGABRT',
  7: 'SIGBUS',
  8: 'SIGFPE',
  9: 'SIGKILL',
  10: 'SIGUSR1',
  11: 'SIGSEGV',
  12: 'SIGUSR2',
  13: 'SIGPIPE',
  14: 'SIGALRM',
  15: 'SIGTERM',
  24: 'SIGXCPU',
  25: 'SIGXFSZ',
};

export const signalName = (n: number): string => SIGNALS[n] ?? `signal ${n}`;
