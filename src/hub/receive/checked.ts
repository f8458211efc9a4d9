import { AGENT_NEEDS, type AgentRecord } from '../../recording/folder/agent-record.ts';
import { JOB_NEEDS, type Job } from '../../recording/folder/job.ts';
import { invalidValueText, isOptional, shaped } from '../../recording/folder/shape.ts';
import type { Position } from '../../recording/live/position.ts';
import type { RecordRequest } from '../../sinks/hub/protocol.ts';
import { Unusable } from './names.ts';

/** What agents send, and what lies in folders that users can change, checked where it enters. */

/** A job as its folder in the archive tells of it. */
export function filedJob(jobRecord: object): Job {
  return shaped<Job>(jobRecord, JOB_NEEDS, []);
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
  const refused = wrong.filter((name) => !isOptional(JOB_NEEDS, name));
  if (refused.length > 0) throw new Unusable(`the job's ${invalidValueText(refused)} cannot be used`);
  return whole;
}

export function checkedAgent(agent: unknown, node: string): AgentRecord {
  if (typeof agent !== 'object' || agent === null || Array.isArray(agent)) throw new Unusable('the agent is missing');
  const wrong: string[] = [];
  const whole = shaped<AgentRecord>(agent, { format: 1, ...AGENT_NEEDS }, wrong);
  if (wrong.length > 0) throw new Unusable(`the agent's ${wrong.slice(0, 5).join(', ')} cannot be used`);
  return whole.node === node ? whole : { ...whole, node };
}
