import * as fs from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { stated } from '../../base/stated.ts';
import { lastSign } from '../../recording/folder/alive.ts';
import { saveJob } from '../../recording/folder/create.ts';
import type { Job, Step } from '../../recording/folder/job.ts';
import { type Recording, readJob } from '../../recording/folder/open.ts';
import { silentEnd } from '../../recording/folder/silent-end.ts';
import type { Run } from './command.ts';
import { isSettled, lostNode, wasKilled } from './is-settled.ts';
import { schedulerNamed, schedulerRunner } from './job-facts.ts';
import type { Ending } from './scheduler.ts';

/** A scheduler that ends a job signals its command first, and waits so long at most until all of it has gone. */
const KILL_SECONDS = 120;

export interface RefreshOptions {
  run?: Run;
  /** Ask also when nothing but the job's steps is unknown. */
  steps?: boolean;
}

/**
 * How a job ended that could not say so itself: it was cancelled, hit its limit, lost a node, or ended after `tacho stop`.
 * Asks the scheduler, a short time, and changes nothing.
 */
export async function refreshJob(
  recording: Pick<Recording, 'job' | 'nodes'>,
  options: RefreshOptions = {},
): Promise<Job> {
  return (await askScheduler(recording, options)).job;
}

/** The same, and what was learnt is kept in job.json when the recording is this user's own. Undefined: nothing was. */
export async function fileJob(recording: Recording, options: RefreshOptions = {}): Promise<Job | undefined> {
  const { job, final } = await askScheduler(recording, options);
  if (job === recording.job || !final) return undefined;
  try {
    return saveOwn(recording.path, recording.job, job) ? job : undefined;
  } catch {
    // a read-only archive: whoever reads it asks again
    return undefined;
  }
}

/** `final`: nobody will know better later. */
async function askScheduler(
  recording: Pick<Recording, 'job' | 'nodes'>,
  { run = schedulerRunner(2), steps = false }: RefreshOptions,
): Promise<{ job: Job; final: boolean }> {
  const { job } = recording;
  if (isSettled(recording, steps)) return { job, final: true };
  const ended = job.end !== undefined && job.state !== 'running' && job.state !== 'unknown';
  const ending = await schedulerNamed(job.scheduler).state(run, job, () => {});
  if (!ended && ending?.state === 'running') {
    const { taken_nodes: taken = job.taken_nodes } = ending;
    const running = { ...job, running_at: Date.now() * 1000, ...stated({ taken_nodes: taken }) };
    return { job: running, final: false };
  }
  let currentJob: Job = job;
  if (ended) {
    if (ending === undefined) return { job, final: false };
    const { waits, ...ended } = job;
    const killed = wasKilled(job) || (ending.state === 'node_fail' && lostNode(recording));
    const news = waits === true ? nextRun(ending) : killed ? whoKilled(job, ending) : {};
    const taken = ending.taken_nodes === undefined ? {} : { taken_nodes: ending.taken_nodes };
    currentJob = { ...ended, ...news, ...taken, steps: stepsMeanwhile(job, ending) };
    // what still runs has no end yet: it is asked for again
    if (ending.state === 'running') return { job: currentJob, final: false };
  } else if (ending !== undefined) {
    // the recording's own end, where there is one, is what its figures refer to
    const { waits: _, reason: __, ...ended } = job;
    currentJob = { ...ended, ...ending, ...stated({ end: job.end }) };
    const last = lastSign(recording);
    if (currentJob.end === undefined) currentJob.end = last ?? job.start;
    // Slurm calls a job ended when it begins to end it; a node's agent records until the last process has gone
    else if (job.end === undefined && isClosing(recording, currentJob))
      currentJob.end = Math.max(currentJob.end, last ?? 0);
  } else if (job.end === undefined) currentJob = silentEnd(recording) ?? job;
  // a job.json that is damaged stays as it is for `verify`: what could be guessed must not take its place
  const guessed = (job.user === '' && job.uid < 0) || (ending === undefined && isWaitedFor(recording));
  return { job: currentJob, final: !guessed && !isClosing(recording, currentJob) };
}

/** The agent of a node has its word still to say, and a hub keeps it. */
const isWaitedFor = ({ nodes }: Pick<Recording, 'nodes'>): boolean =>
  nodes.some(({ agent }) => agent?.service === true && agent.end === undefined);

/** The agent of a node, which knows the end more exactly, has its word still to say. */
const isClosing = ({ nodes }: Pick<Recording, 'nodes'>, { end }: Job): boolean =>
  isWaitedFor({ nodes }) && Date.now() * 1000 - (end ?? 0) < KILL_SECONDS * 1e6;

/** The scheduler's word on a command that was killed or lost a node, when the job, or a step of it, ended with it. */
function whoKilled(job: Job, ending: Ending): Partial<Job> {
  const { state, end } = ending;
  if (state === 'running' || state === 'completed' || state === 'failed' || state === 'unknown') {
    const step = (ending.steps ?? []).findLast((each) => ENDED_STEP.has(each.state!) && endedWith(job, each.end));
    return step === undefined ? {} : { reason: `step ${step.id} ${ENDED_STEP.get(step.state!)}` };
  }
  if (!endedWith(job, end ?? job.end!)) return {};
  return { state, ...nextRun(ending) };
}

const nextRun = ({ reason, waits }: Ending): Partial<Job> => ({
  ...stated({ reason }),
  ...(waits === true ? { waits } : {}),
});

/** How a scheduler may end a step of a job that goes on. */
const ENDED_STEP = new Map([
  ['timeout', 'reached its time limit'],
  ['out_of_memory', 'used more memory than it was given'],
  ['node_fail', 'lost a node'],
  ['cancelled', 'was cancelled'],
]);

function endedWith(job: Job, end: number | undefined): boolean {
  const later = ((end ?? Number.NaN) - job.end!) / 1e6;
  // schedulers' moments are whole seconds
  return later >= -2 && later <= KILL_SECONDS;
}

/** A job may run several commands, each with its own recording. Schedulers' moments are cut to whole seconds. */
const stepsMeanwhile = (job: Job, { steps = [] }: Ending): Step[] =>
  steps.filter(({ start, end }) => (start ?? 0) <= job.end! && (end ?? Infinity) + 1e6 > job.start);

/** Keeps it in a recording of our own, and says whether it did. By its name another folder may be found by now: it is held open. */
function saveOwn(folder: string, before: Job, job: Job): boolean {
  const fd = fs.openSync(folder, fs.constants.O_RDONLY | fs.constants.O_DIRECTORY);
  try {
    const held = `/proc/self/fd/${fd}`;
    const isOurs = fs.fstatSync(fd).uid === process.getuid!();
    if (!isOurs || !isDeepStrictEqual(readJob(held), before)) return false;
    saveJob(held, job);
    return true;
  } finally {
    fs.closeSync(fd);
  }
}
