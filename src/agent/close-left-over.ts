import * as path from 'node:path';
import { schedulerNamed } from '../jobs/job-facts.ts';
import { jobName, type NodeJobEnd } from '../jobs/job-file.ts';
import { newestWrite } from '../recording/alive.ts';
import { saveJob } from '../recording/create.ts';
import type { Job } from '../recording/job.ts';
import { openRecording } from '../recording/open.ts';
import { replaceJson } from '../recording/replace.ts';
import { leftMarks } from './job-marks.ts';
import { type Common, outcome } from './job-recording.ts';

/** Closes a recording that an agent before this one has left, and whose job (or day) is over. */
export async function closeLeftOver(folder: string, common: Common, end?: NodeJobEnd): Promise<void> {
  const { job: known, nodes } = openRecording(folder);
  const job = { ...known, ...takeLeft(folder, known, common) };
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
  const over = end?.end ?? last ?? job.start;
  if (job.scheduler === 'none') {
    saveJob(folder, { ...job, state: job.uid === -1 ? 'completed' : 'unknown', end: over });
    return;
  }
  const asks = job.nodes[0] === common.node;
  const found = asks ? await schedulerNamed(job.scheduler).state(common.run, job, () => {}) : undefined;
  const said: Partial<Job> = found === undefined || found.state === 'running' ? {} : found;
  saveJob(folder, {
    ...job,
    ...(end?.exitCode === undefined && end?.signal === undefined
      ? { state: 'unknown', reason: 'it ended while no agent was running on this node' }
      : outcome(end)),
    ...said,
    end: said.end ?? over,
  });
}

/** What the job said of itself when nobody listened any more. */
function takeLeft(folder: string, job: Job, { marks, node, clock }: Common): Partial<Job> {
  if (marks === undefined || job.uid < 0 || job.end !== undefined) return {};
  const left = leftMarks(path.join(marks, `job-${jobName(job)}`), job, folder, node, () => clock.now());
  left?.takeMarks();
  const said = left?.takeWords();
  left?.remove();
  return said === undefined ? {} : { ...said, tags: { ...job.tags, ...said.tags } };
}
