import type { AgentRecord } from '../../recording/folder/agent-record.ts';
import type { Job } from '../../recording/folder/job.ts';
import { nodePart } from './names.ts';

const MOST_NAMESAKES = 100;
/** How much the clocks of nodes may differ. */
const CLOCKS_DIFFER_US = 60e6;

/** Two clusters may have a job of the same number, and numbers begin again when a scheduler is set up anew. */
export function* candidates(name: string, cluster: string | undefined): Generator<string> {
  yield name;
  const own = cluster === undefined ? name : `${name}@${nodePart(cluster).slice('node='.length)}`;
  if (own !== name) yield own;
  for (let n = 2; n < MOST_NAMESAKES; n++) yield `${own}.${n}`;
}

/** A job that began after the other had ended is another one, at once when it is on other nodes. */
export function isSameJob(filedJob: Job, job: Job): boolean {
  if (filedJob.cluster !== undefined && job.cluster !== undefined && filedJob.cluster !== job.cluster) return false;
  if (job.start > (filedJob.end ?? Number.NaN) && hasOtherNodes(filedJob, job)) return false;
  return !(job.start > (filedJob.end ?? Number.NaN) + CLOCKS_DIFFER_US);
}

/** Whether both know all of their nodes, and these are not the same. */
function hasOtherNodes(filedJob: Job, job: Job): boolean {
  if (filedJob.asked.nodes !== filedJob.nodes.length || job.asked.nodes !== job.nodes.length) return false;
  return filedJob.nodes.length !== job.nodes.length || job.nodes.some((node) => !filedJob.nodes.includes(node));
}

/**
 * A job that begins on a node, by the same clock, when the node's agent had recorded one of this id already is another run.
 * Agents may be there a little before their job.
 */
export function isNextRun(previousAgent: Pick<AgentRecord, 'start' | 'end'> | undefined, job: Job): boolean {
  return previousAgent !== undefined && job.start > (previousAgent.end ?? previousAgent.start + CLOCKS_DIFFER_US);
}
