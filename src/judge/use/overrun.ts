import { formatDuration } from '../../base/duration.ts';
import type { Material } from '../../query/material.ts';
import type { AgentRecord } from '../../recording/folder/agent-record.ts';
import type { Job } from '../../recording/folder/job.ts';
import type { Unmeasured } from '../report-schema.ts';

/** The agent of a node takes its last sample a moment after the job's end; later than this it did not know of the end. */
const SECONDS = 10;
const INTERVALS = 3;

/** So long the agent of a node went on to record after the job's end, in seconds; undefined: it stopped with it. */
export function overrunOf(
  { end, interval_seconds: interval }: Job,
  agent: AgentRecord | undefined,
): number | undefined {
  if (end === undefined || agent?.service !== true || agent.last_sample === undefined) return undefined;
  const seconds = (agent.last_sample - end) / 1e6;
  return seconds > Math.max(SECONDS, INTERVALS * (interval || 0)) ? seconds : undefined;
}

/** What was recorded behind the job's end counts nowhere, and that is said. */
export function overruns({ job, nodes, range }: Material): Unmeasured[] {
  if (range !== undefined) return [];
  return nodes.flatMap(({ node, agent }) => {
    const seconds = overrunOf(job, agent);
    if (seconds === undefined) return [];
    const what = `what ${node} recorded for ${formatDuration(seconds)} after the job’s end: it does not count`;
    return [{ what, why: 'the agent of the node learned of the end only then: no epilog told it', nodes: [node] }];
  });
}
