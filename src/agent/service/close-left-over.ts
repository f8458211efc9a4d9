import * as path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { stated } from '../../base/stated.ts';
import { jobName, type NodeJobEnd } from '../../jobs/on-node/job-file.ts';
import { schedulerNamed } from '../../jobs/schedulers/job-facts.ts';
import { KILLED } from '../../recording/folder/agent-record.ts';
import { newestWrite } from '../../recording/folder/alive.ts';
import { saveJob } from '../../recording/folder/create.ts';
import { isFleet } from '../../recording/folder/fleet.ts';
import type { Job } from '../../recording/folder/job.ts';
import { type NodeRecording, openRecording } from '../../recording/folder/open.ts';
import { replaceJson } from '../../recording/folder/replace.ts';
import { takeOver } from '../run/adopt-records.ts';
import type { Common } from './common.ts';
import { outcome } from './job-description.ts';
import { abandonedMarks, type JobMarks } from './job-marks.ts';

/**
 * Closes a recording that an agent before this one has left, and whose job (or day) is over. Whoever is killed meanwhile
 * leaves it to the next one: job.json, which says that it has ended, is written last.
 */
export async function closeLeftOver(folder: string, common: Common, end?: NodeJobEnd): Promise<void> {
  const { job, nodes } = openRecording(folder);
  const node = nodes.find(({ name }) => name === common.node);
  const last = node === undefined ? undefined : (node.agent?.end ?? newestWrite(node));
  if (node?.agent !== undefined && node.agent.end === undefined) {
    replaceJson(path.join(node.folder, 'agent.json'), {
      ...node.agent,
      end: last ?? node.agent.start,
      end_reason: KILLED,
    });
  }
  if (job.end !== undefined) return;
  if (node !== undefined) await takeRecords(folder, job, node, common);
  const left = leftBehind(folder, job, common);
  if (left !== undefined) await common.turns.finish(() => left.takeMarks());
  const notes = left?.takeWords();
  const ended = await howItEnded(job, common, end);
  if (ended === undefined) {
    left?.close();
    return;
  }
  saveJob(folder, {
    ...job,
    ...notes,
    tags: { ...job.tags, ...notes?.tags },
    ...stated({ own_use: left?.ownUse() }),
    ...ended,
    end: Math.max(end?.end ?? ended.end ?? last ?? job.start, job.start),
  });
  await left?.remove();
}

/** What processes said of themselves when nobody listened any more. */
async function takeRecords(folder: string, job: Job, node: NodeRecording, { records, redact }: Common): Promise<void> {
  const name = `job-${jobName(job)}`;
  const recordsLeft = job.uid < 0 ? undefined : records?.left(name, job, folder);
  if (recordsLeft !== undefined) await takeOver(recordsLeft, node, redact);
  records?.forget(name);
}

/** Slurm finds out some time after a node is back that a job was lost with it: it is asked again so much later. */
const ASK_AGAIN_MS = [1_000, 3_000, 10_000, 30_000, 60_000];

/** What the epilog says, and what the scheduler says better. Undefined: the agent ends before anybody knows. */
async function howItEnded(
  job: Job,
  common: Common,
  end?: NodeJobEnd,
): Promise<(Pick<Job, 'state'> & Partial<Job>) | undefined> {
  if (isFleet(job)) return { state: 'completed' };
  const reportedEnd =
    end?.exitCode === undefined && end?.signal === undefined
      ? { state: 'unknown' as const, reason: 'it ended while no agent was running on this node' }
      : outcome(end);
  if (job.scheduler === 'none' || job.nodes[0] !== common.node) return reportedEnd;
  for (const pause of ASK_AGAIN_MS) {
    const ending = await schedulerNamed(job.scheduler).state(common.run, job, () => {});
    if (ending === undefined) return reportedEnd;
    if (ending.state !== 'running' && ending.state !== 'unknown') return { ...plain(reportedEnd), ...ending };
    if (reportedEnd.state !== 'unknown') return reportedEnd;
    try {
      await sleep(pause, undefined, { signal: common.ending, ref: false });
    } catch {
      return undefined;
    }
  }
  return reportedEnd;
}

/** Without the words for what nobody knew. */
function plain({ reason, ...jobEnd }: Pick<Job, 'state'> & Partial<Job>): Partial<Job> {
  return jobEnd.state === 'unknown' || reason === undefined ? jobEnd : { ...jobEnd, reason };
}

/** Where the job said something of itself when nobody listened any more. */
function leftBehind(folder: string, job: Job, { marks, node, clock }: Common): JobMarks | undefined {
  if (marks === undefined || job.uid < 0) return undefined;
  return abandonedMarks({
    name: path.join(marks.folder, `job-${jobName(job)}`),
    users: marks.users,
    job,
    recording: folder,
    node,
    now: () => clock.now(),
    ahead: () => clock.ahead(),
  });
}
