import { AGENT_NEEDS, type AgentRecord } from '../recording/agent-record.ts';
import { JOB_NEEDS, type Job } from '../recording/job.ts';
import { shaped } from '../recording/shape.ts';
import type { Position } from '../sinks/position.ts';
import { Unusable } from './names.ts';

/** What agents send, checked where it enters. */

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
  return whole;
}

export function checkedAgent(agent: unknown, node: string): AgentRecord {
  if (typeof agent !== 'object' || agent === null || Array.isArray(agent)) throw new Unusable('the agent is missing');
  const wrong: string[] = [];
  const whole = shaped<AgentRecord>(agent, { format: 1, ...AGENT_NEEDS }, wrong);
  if (wrong.length > 0) throw new Unusable(`the agent's ${wrong.slice(0, 5).join(', ')} cannot be used`);
  return whole.node === node ? whole : { ...whole, node };
}
