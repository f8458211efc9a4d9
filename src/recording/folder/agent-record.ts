import type { NodeFacts } from '../../sources/host/facts.ts';
import type { Note } from '../../sources/host.ts';
import type { Table } from '../../table/table.ts';
import { units } from '../../table/unit.ts';
import type { LostSamples } from './lost-samples.ts';
import { fields, flag, list, may, moment, must, number, once, oneOf, text } from './shape.ts';

/** Why an agent ended that could not say so itself: the next one of the node has written it down. */
export const KILLED = 'the agent was killed';

/**
 * node=<n>/agent.json: what the agent is, what it records, what it could not read and why, how it ended.
 * Written when the agent starts, replaced (by rename) now and then, and once more at its end.
 */
export interface AgentRecord {
  format: number;
  tacho: string;
  node: string;
  pid: number;
  /** The scheduler's step the agent runs in, if any. */
  step?: string;
  interval_seconds: number;
  /** It is the node's own, which learns of a job's end only a moment after the scheduler: so does its farewell come. */
  service?: true;
  /** Then: when the service itself began, epoch microseconds: a job may have been there before. */
  service_start?: number;
  /** Epoch microseconds. */
  start: number;
  first_sample?: number;
  last_sample?: number;
  /** Missing when the agent was killed: then the newest sample says until when it lived. */
  end?: number;
  /** Why it ended: "stopped", "SIGTERM", "disk full: …". */
  end_reason?: string;
  facts: NodeFacts;
  /** Whether the processes and cgroup values are the job's own or shared with others, and how that was told. */
  scope: {
    members: string;
    cgroup?: string;
    cgroup_shared?: boolean;
    /** That cgroup is older than the job: what it had counted before its first sample is not the job's. */
    cgroup_older?: boolean;
    /** The agent is in that cgroup: what recording costs is counted there too. */
    cgroup_with_agent?: boolean;
  };
  /** Whether the recording lies on a block device of the node: only then the I/O of a cgroup has what the agent writes. */
  on_disk?: boolean;
  /** The tables as this node writes them: columns, units and help travel with the data. */
  tables: (Table & { every?: number })[];
  unmeasured: Note[];
  /** Tables of which rows were written: one of these whose files are not there is lost. */
  written?: string[];
  /** It was brought back from a store, which has neither records of processes nor samples of short ones. */
  from_store?: true;
  /** Then: tables of which rows were written, and which the store has not. */
  not_stored?: string[];
  ticks: number;
  late_ticks: number;
  missed_ticks: number;
  /** Jumps of the wall clock that the agent saw, in seconds. */
  clock_jumps?: { time: number; seconds: number }[];
  /** While no agent was there, after one that was killed or ended: its last sample and the next one's first; the newest ones. */
  away?: { from: number; to: number }[];
  /** Samples that could not be written, and why. */
  lost_samples?: LostSamples[];
  /** What the records came from, where it may not be whole: the place in a file, and what is wrong with it. */
  doubts?: { where: string; why: string }[];
  /** What a full spool had to give up before it was stored elsewhere: from where to where in a table, and how much. */
  dropped?: {
    table: string;
    from: { part: number; bytes: number };
    to: { part: number; bytes: number };
    rows: number;
    /** Epoch microseconds. */
    first?: number;
    last?: number;
  }[];
  cost: {
    cpu_seconds: number;
    max_rss_bytes: number;
    /** Of the agent's memory what is its own alone, without pages of files that others share. */
    max_own_bytes?: number;
    bytes_written: number;
  };
  /** Other jobs that ran on this node meanwhile: what belongs to the whole node is theirs too. */
  shared_with?: string[];
  /** Programs of others that used most CPU time while more threads wanted to run than there are CPUs, as far as /proc shows. */
  neighbours?: { user: string; program: string; cpu_seconds: number }[];
  /** Processes of the job that were still there when its recording ended; missing where nobody could look. */
  left_running?: { pid: number; command: string; user: string }[];
}

const TABLE = {
  name: text,
  help: may(text),
  keys: list(fields({ name: text })),
  columns: list(
    fields({
      name: text,
      type: oneOf('int', 'float', 'text'),
      unit: oneOf(...Object.keys(units)),
      kind: oneOf('gauge', 'counter', 'info'),
      decimals: may(number),
    }),
  ),
  sparse: may(flag),
  events: may(flag),
  implied_by: may(text),
  every: may(number),
};

/** Descriptions of tables, wherever they are read from. */
export const TABLES = once(list(fields(TABLE)));

const POSITION = fields({ part: number, bytes: number });

/** What a reader may rely on, whoever wrote the record. */
export const AGENT_NEEDS = {
  tacho: '',
  node: '',
  pid: must(number, Number.NaN),
  step: may(text),
  interval_seconds: must(number, Number.NaN),
  service: may(flag),
  service_start: may(moment),
  start: must(moment, Number.NaN),
  first_sample: may(moment),
  last_sample: may(moment),
  end: may(moment),
  end_reason: may(text),
  facts: {
    hostname: '',
    kernel: '',
    architecture: '',
    cpu_model: may(text),
    cpus: must(number, Number.NaN),
    sockets: may(number),
    memory_bytes: must(number, Number.NaN),
    page_bytes: may(number),
    boot_time: may(moment),
    gpus: must(
      list(
        fields({
          gpu: text,
          vendor: text,
          model: may(text),
          uuid: may(text),
          memory_bytes: may(number),
          serial: may(text),
          driver: may(text),
        }),
      ),
      [],
    ),
    allowed_cpus: may(number),
    memory_limit_bytes: may(number),
  },
  scope: {
    members: '',
    cgroup: may(text),
    cgroup_shared: may(flag),
    cgroup_older: may(flag),
    cgroup_with_agent: may(flag),
  },
  on_disk: may(flag),
  tables: must(TABLES, []),
  unmeasured: must(list(fields({ table: text, what: text, why: text, hint: may(text) })), []),
  written: may(list(text)),
  from_store: may(flag),
  not_stored: may(list(text)),
  ticks: must(number, 0),
  late_ticks: must(number, 0),
  missed_ticks: must(number, 0),
  clock_jumps: may(list(fields({ time: moment, seconds: number }))),
  away: may(list(fields({ from: moment, to: moment }))),
  lost_samples: may(list(fields({ table: text, rows: number, why: text, since: may(moment), waiting: may(number) }))),
  doubts: may(list(fields({ where: text, why: text }))),
  dropped: may(
    list(fields({ table: text, from: POSITION, to: POSITION, rows: number, first: may(moment), last: may(moment) })),
  ),
  cost: {
    cpu_seconds: Number.NaN,
    max_rss_bytes: Number.NaN,
    max_own_bytes: may(number),
    bytes_written: Number.NaN,
  },
  shared_with: may(list(text)),
  neighbours: may(list(fields({ user: text, program: text, cpu_seconds: number }))),
  left_running: may(list(fields({ pid: number, command: text, user: text }))),
};
