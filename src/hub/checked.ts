import { AGENT_NEEDS, type AgentRecord } from '../recording/agent-record.ts';
import { JOB_NEEDS, type Job } from '../recording/job.ts';
import { shaped } from '../recording/shape.ts';
import type { RecordRequest } from '../sinks/hub-protocol.ts';
import type { Position } from '../sinks/position.ts';
import { Unusable } from './names.ts';

/** What agents send, and what lies in folders that users can change, checked where it enters. */

const OBJECTS = ['per_node', 'annotations', 'own_use', 'not_recorded', 'taken_nodes', 'usage', 'run_use'] as const;
const LISTS = ['steps', 'command'] as const;
const NUMBERS = ['restart', 'submit', 'end', 'exit_code'] as const;
const TEXTS = ['cluster', 'account', 'partition', 'directory', 'signal', 'reason'] as const;

const isPlain = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value);

/** Without the fields that a job need not have and that are of another kind here: a text that is spread is a million keys. */
function withoutWrong(job: Job): Job {
  const whole = { ...job } as Partial<Record<keyof Job, unknown>>;
  const keep = (keys: readonly (keyof Job)[], fits: (value: unknown) => boolean): void => {
    for (const key of keys) if (whole[key] !== undefined && !fits(whole[key])) delete whole[key];
  };
  keep(OBJECTS, isPlain);
  keep(LISTS, Array.isArray);
  keep(NUMBERS, (value) => typeof value === 'number');
  keep(TEXTS, (value) => typeof value === 'string');
  return whole as unknown as Job;
}

/** A job as its folder in the archive tells of it. */
export function filedJob(found: object): Job {
  const job = withoutWrong(shaped<Job>(found, JOB_NEEDS, []));
  return { ...job, nodes: job.nodes.filter((node) => typeof node === 'string') };
}

/** What was given up, of a table from one position to another. */
export function isDropped(value: unknown): value is NonNullable<RecordRequest['dropped']>[number] {
  const { table, from, to } = (value ?? {}) as Record<string, unknown>;
  return typeof table === 'string' && isPosition(from) && isPosition(to);
}

export function isPosition(value: unknown): value is Position {
  const { part, bytes } = (value ?? {}) as Partial<Position>;
  return Number.isSafeInteger(part) && part! > 0 && Number.isSafeInteger(bytes) && bytes! >= 0;
}

export function checkedJob(job: unknown): Job {
  if (typeof job !== 'object' || job === null || Array.isArray(job)) throw new Unusable('the job is missing');
  const wrong: string[] = [];
  const whole = shaped<Job>(job, { format: 1, ...JOB_NEEDS }, wrong);
  if (wrong.length > 0) throw new Unusable(`the job's ${wrong.slice(0, 5).join(', ')} cannot be used`);
  if (!whole.nodes.every((node) => typeof node === 'string')) throw new Unusable("the job's nodes are no names");
  return withoutWrong(whole);
}

export function checkedAgent(agent: unknown, node: string): AgentRecord {
  if (typeof agent !== 'object' || agent === null || Array.isArray(agent)) throw new Unusable('the agent is missing');
  const wrong: string[] = [];
  const whole = shaped<AgentRecord>(agent, { format: 1, ...AGENT_NEEDS }, wrong);
  if (wrong.length > 0) throw new Unusable(`the agent's ${wrong.slice(0, 5).join(', ')} cannot be used`);
  return whole.node === node ? whole : { ...whole, node };
}
