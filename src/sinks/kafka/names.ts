import type { AgentRecord } from '../../recording/folder/agent-record.ts';
import type { Job } from '../../recording/folder/job.ts';

/** How the topics of one installation are called. */
export interface Naming {
  /** Before every topic: `tacho` makes `tacho.meminfo`. */
  readonly prefix: string;
  /** A user's rows go to topics of their own, which access lists can tell apart: `tacho.ada.meminfo`. */
  readonly byUser: boolean;
}

/** What users record themselves is in topics of its own, so that who reads the cluster's never meets it: `tacho-own.meminfo`. */
export function namingFor(naming: Naming, job: Pick<Job, 'recorded_by'>): Naming {
  return job.recorded_by === undefined ? naming : { ...naming, prefix: naming.prefix + OWN };
}

const OWN = '-own';

/** Whether a topic with our prefix holds what users recorded themselves. */
export const isOwnTopic = (prefix: string, topic: string): boolean => topic.startsWith(`${prefix}${OWN}.`);

/** Compacted topics: of every key the newest record stays. */
export const RECORDS = ['tables', 'jobs', 'nodes'] as const;
export type RecordTopic = (typeof RECORDS)[number];

/** What a node records of itself belongs to nobody. */
const NOBODY = 'fleet';

// a dot in a user's name would lie below another user's prefix
const word = (name: string): string =>
  name.replaceAll(/[^A-Za-z0-9_-]/gu, (odd) => `-${odd.codePointAt(0)!.toString(16)}-`);

function below(naming: Naming, user: string): string {
  return naming.byUser ? `${naming.prefix}.${user === '' ? NOBODY : word(user)}` : naming.prefix;
}

/** The topic of a table's rows. */
export function rowTopic(naming: Naming, user: string, table: string): string {
  const name = word(table);
  return `${below(naming, user)}.${(RECORDS as readonly string[]).includes(name) ? `${name}-table` : name}`;
}

/** The topic of definitions (whoever recorded them), jobs or nodes. */
export function recordTopic(naming: Naming, user: string, what: RecordTopic): string {
  return what === 'tables' ? `${naming.prefix}.tables` : `${below(naming, user)}.${what}`;
}

/** What a topic with our prefix holds, whether by user or not; undefined when it is none of ours. */
export function topicHolds(prefix: string, topic: string): RecordTopic | 'rows' | undefined {
  const before = isOwnTopic(prefix, topic) ? prefix + OWN : prefix;
  if (!topic.startsWith(`${before}.`)) return undefined;
  const topicWords = topic.slice(before.length + 1).split('.');
  if (topicWords.length > 2 || topicWords.includes('')) return undefined;
  const last = topicWords.at(-1)!;
  return RECORDS.find((each) => each === last) ?? 'rows';
}

/** `ada/4711`, of the second restart `ada/4711r2`, in a named cluster `ada/alps/4711`: no user's name has a slash, ids may have. */
export function jobKey(job: Pick<Job, 'id' | 'restart' | 'cluster' | 'user'>): string {
  const restart = job.restart === undefined || job.restart === 0 ? '' : `r${job.restart}`;
  return `${job.user}/${job.cluster === undefined || job.cluster === '' ? '' : `${job.cluster}/`}${job.id}${restart}`;
}

/** Tells jobs apart that had the same id on a node: when the node began to record it, epoch microseconds. */
export const runOf = ({ start }: Pick<AgentRecord, 'start'>): string => String(start);
