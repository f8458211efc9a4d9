import { byNode, nodeNames } from './node-names.ts';
import { fields, flag, list, map, may, moment, must, number, oneOf, text, tuple } from './shape.ts';

/** The version of the folder's layout. A reader refuses a recording whose format is higher than its own. */
export const FORMAT = 1;

export const JOB_STATES = [
  'running',
  'completed',
  'failed',
  'cancelled',
  'timeout',
  'out_of_memory',
  'node_fail',
  'preempted',
  'unknown',
] as const;

export type JobState = (typeof JOB_STATES)[number];

/** What was asked for, for the whole job; a value that nobody stated is not there. */
export interface Asked {
  nodes?: number;
  cpus?: number;
  memory_bytes?: number;
  gpus?: number;
  time_limit_seconds?: number;
}

export interface Step {
  id: string;
  name?: string;
  /** Epoch microseconds. */
  start?: number;
  end?: number;
  state?: string;
  nodes?: string[];
  tasks?: number;
  exit_code?: number;
  /** What Slurm calls MaxRSS: the largest task as it sampled it. */
  max_rss_bytes?: number;
}

/** What wait4 said of the command that `tacho run` started: exact, however short it was. */
export interface Usage {
  wall_seconds: number;
  user_seconds: number;
  system_seconds: number;
  /** Largest resident set of any one process; undefined when it could not be told apart from Tacho's own. */
  max_rss_bytes?: number;
  minor_faults: number;
  major_faults: number;
  read_blocks: number;
  written_blocks: number;
  voluntary_switches: number;
  involuntary_switches: number;
}

/** What commands of Tacho's that ran inside the job used on a node (`tacho mark`, `status`…): it is none of the job's use. */
export interface OwnUse {
  commands: number;
  /** With what the scheduler's commands used that they called. */
  cpu_seconds: number;
  /** Of the largest. */
  max_rss_bytes: number;
  /** When they ran, in epoch microseconds, and what each used, in seconds; of very many, some together. */
  spans?: [begin: number, end: number, cpu_seconds: number][];
}

/** job.json: who, what, when, where, what was asked for, how it ended. Times are epoch microseconds, UTC. */
export interface Job {
  format: number;
  /** Version of Tacho that wrote it. */
  tacho: string;
  id: string;
  /** How often the scheduler has restarted this id before. */
  restart?: number;
  cluster?: string;
  scheduler: 'slurm' | 'flux' | 'pbs' | 'file' | 'none';
  name: string;
  user: string;
  uid: number;
  /** The user sent it to a hub, not the agent of a node: nobody else vouches for it. */
  recorded_by?: 'user';
  account?: string;
  partition?: string;
  /** Arguments are left out when the recording is redacted. */
  command?: string[];
  directory?: string;
  asked: Asked;
  /** The nodes that should have been recorded. */
  nodes: string[];
  /** Why nodes of these did not begin to record, or not to the end, as far as they said so. */
  not_recorded?: Record<string, string>;
  /** Those that the scheduler took out of the job while it went on, because they failed or it gave them back, and when. */
  taken_nodes?: Record<string, number>;
  /** What the scheduler gave on each node, where it says so. */
  per_node?: Record<string, { cpus?: number; memory_bytes?: number; gpus?: number }>;
  interval_seconds: number;
  submit?: number;
  start: number;
  end?: number;
  state: JobState;
  /** When its scheduler was asked, and said that it runs. Not in job.json: it is soon old. */
  running_at?: number;
  exit_code?: number;
  signal?: string;
  /** In words, when more is known about how it ended ("time limit of 1 h reached"). */
  reason?: string;
  /** This run was put back into the queue and waits there: what became of it is asked for again. */
  waits?: true;
  steps?: Step[];
  tags: Record<string, string>;
  /** What people said of it afterwards (`tacho annotate`). */
  annotations?: Record<string, string>;
  /** Another program recorded it: from what it was imported, and what is wrong or unusual in that. */
  imported?: { from: string; notes: string[] };
  environment: Record<string, string>;
  /** `elsewhere`: the command ran on a machine that is not the one recorded, and only started the work there. */
  usage?: Usage & { elsewhere?: true };
  /** By node. */
  own_use?: Record<string, OwnUse>;
  /** What `tacho run` used itself since agents recorded, where they are on several nodes, and the node on which it and the command ran. */
  run_use?: { node: string; cpu_seconds: number; max_rss_bytes?: number };
  /** CPU time of `tacho run` or `tacho stop` that no sample shows: starting, sealing, the report card. */
  finish_seconds?: number;
  /** Processes that the kernel killed in the job's cgroup because memory ran out, where some of them were Tacho's own or nobody else saw them, and how many were Tacho's own. */
  memory_kills?: { kills: number; own: number };
  /** Those that it had killed in the cgroup of `tacho run` before the command began; gone when the recorder saw the end. */
  kills_before?: { cgroup: string; kills: number };
  redacted?: boolean;
  /** Where its processes record themselves on each node while it runs, and the perf events that they count. */
  process_records?: { file: string; events: readonly string[] };
  /** Where its programs append marks on each node while it runs. */
  marks_file?: string;
}

const STEP = {
  id: text,
  name: may(text),
  start: may(moment),
  end: may(moment),
  state: may(text),
  nodes: may(nodeNames),
  tasks: may(number),
  exit_code: may(number),
  max_rss_bytes: may(number),
};

const USAGE = {
  wall_seconds: number,
  user_seconds: number,
  system_seconds: number,
  max_rss_bytes: may(number),
  minor_faults: number,
  major_faults: number,
  read_blocks: number,
  written_blocks: number,
  voluntary_switches: number,
  involuntary_switches: number,
  elsewhere: may(flag),
};

const OWN_USE = {
  commands: number,
  cpu_seconds: number,
  max_rss_bytes: number,
  spans: may(list(tuple(moment, moment, number))),
};

/** What a reader may rely on, whoever wrote the record. */
export const JOB_NEEDS = {
  tacho: '',
  id: '',
  restart: may(number),
  cluster: may(text),
  scheduler: must(oneOf('slurm', 'flux', 'pbs', 'file', 'none'), 'none'),
  name: '',
  user: '',
  uid: must(number, -1),
  account: may(text),
  partition: may(text),
  command: may(list(text)),
  directory: may(text),
  asked: {
    nodes: may(number),
    cpus: may(number),
    memory_bytes: may(number),
    gpus: may(number),
    time_limit_seconds: may(number),
  },
  nodes: must(nodeNames, []),
  not_recorded: may(byNode(text)),
  taken_nodes: may(byNode(moment)),
  per_node: may(byNode(fields({ cpus: may(number), memory_bytes: may(number), gpus: may(number) }))),
  interval_seconds: must(number, Number.NaN),
  submit: may(moment),
  start: must(moment, Number.NaN),
  end: may(moment),
  state: must(oneOf(...JOB_STATES), 'unknown'),
  exit_code: may(number),
  signal: may(text),
  reason: may(text),
  waits: may(flag),
  steps: may(list(fields(STEP))),
  tags: must(map(text), {}),
  annotations: may(map(text)),
  imported: may(fields({ from: text, notes: list(text) })),
  environment: must(map(text), {}),
  usage: may(fields(USAGE)),
  own_use: may(byNode(fields(OWN_USE))),
  run_use: may(fields({ node: text, cpu_seconds: number, max_rss_bytes: may(number) })),
  finish_seconds: may(number),
  memory_kills: may(fields({ kills: number, own: number })),
  kills_before: may(fields({ cgroup: text, kills: number })),
  recorded_by: may(oneOf('user')),
  redacted: may(flag),
  process_records: may(fields({ file: text, events: list(text) })),
  marks_file: may(text),
};
