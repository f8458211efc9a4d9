import * as path from 'node:path';
import { schedulerNamed } from '../jobs/job-facts.ts';
import { jobName, type NodeJobEnd } from '../jobs/job-file.ts';
import { newestWrite } from '../recording/alive.ts';
import { saveJob } from '../recording/create.ts';
import type { Job } from '../recording/job.ts';
import { openRecording } from '../recording/open.ts';
import { replaceJson } from '../recording/replace.ts';
import { isFleet } from '../sinks/fleet.ts';
import { type JobMarks, leftMarks } from './job-marks.ts';
import { type Common, outcome } from './job-recording.ts';

/**
 * Closes a recording that an agent before this one has left, and whose job (or day) is over. Whoever is killed meanwhile
 * leaves it to the next one: job.json, which says that it has ended, is written last.
 */
export async function closeLeftOver(folder: string, common: Common, end?: NodeJobEnd): Promise<void> {
  const { job, nodes } = openRecording(folder);
  const node = nodes.find(({ name }) => name === common.node);
  const last = node === undefined ? undefined : (node.agent?.end ?? newestWrite(node));
  if (node?.agent !== undefined && node.agent.end === undefined) {
    const why = 'the agent was killed';
    replaceJson(path.join(node.folder, 'agent.json'), {
      ...node.agent,
      end: last ?? node.agent.start,
      end_reason: why,
    });
  }
  if (job.end !== undefined) return;
  const left = leftBehind(folder, job, common);
  left?.takeMarks();
  const words = left?.takeWords();
  const ended = await howItEnded(job, common, end);
  saveJob(folder, {
    ...job,
    ...words,
    tags: { ...job.tags, ...words?.tags },
    ...ended,
    end: Math.max(end?.end ?? ended.end ?? last ?? job.start, job.start),
  });
  left?.remove();
}

/** What the epilog says, and what the scheduler says better. */
async function howItEnded(job: Job, common: Common, end?: NodeJobEnd): Promise<Pick<Job, 'state'> & Partial<Job>> {
  if (isFleet(job)) return { state: 'completed' };
  const told =
    end?.exitCode === undefined && end?.signal === undefined
      ? { state: 'unknown' as const, reason: 'it ended while no agent was running on this node' }
      : outcome(end);
  if (job.scheduler === 'none' || job.nodes[0] !== common.node) return told;
  const found = await schedulerNamed(job.scheduler).state(common.run, job, () => {});
  return found === undefined || found.state === 'running' ? told : { ...told, ...found };
}

/** Where the job said something of itself when nobody listened any more. */
function leftBehind(folder: string, job: Job, { marks, node, clock }: Common): JobMarks | undefined {
  if (marks === undefined || job.uid < 0) return undefined;
  return leftMarks(path.join(marks, `job-${jobName(job)}`), job, folder, node, () => clock.now());
}
