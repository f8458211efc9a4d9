import type { Job, JobState } from '../../recording/folder/job.ts';

/** Which of two words about a job's state counts: an end before what is not known yet, a failure before a success. */
const WEIGHT: Record<JobState, number> = {
  unknown: 0,
  running: 1,
  completed: 2,
  cancelled: 3,
  preempted: 3,
  failed: 4,
  timeout: 5,
  out_of_memory: 6,
  node_fail: 7,
};

const weight = (job: Job): number => WEIGHT[job.state] ?? 0;
const isPlain = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isMissing = (value: unknown): boolean =>
  value === undefined || value === null || value === '' || (typeof value === 'number' && Number.isNaN(value));
const extent = (value: unknown): number =>
  Array.isArray(value) ? value.length : isPlain(value) ? Object.keys(value).length : isMissing(value) ? 0 : 1;

/**
 * One job as several nodes tell of it: all of their nodes, the earliest start, the latest end, and of every fact what says
 * most. Only the first node asks the scheduler, and it may come last.
 */
export function mergeJobs(have: Job, reported: Job): Job {
  // how it ended is one node's word, whole: an exit code does not belong to another's state
  const ended = weight(reported) > weight(have) ? reported : have;
  const other = ended === reported ? have : reported;
  const merged: Record<string, unknown> = { ...other };
  for (const [key, value] of Object.entries(ended)) if (!isMissing(value)) merged[key] = value;
  for (const key of ['asked', 'per_node', 'environment', 'tags', 'annotations'] as const) {
    // what is written here already, perhaps by people, stays
    if (have[key] !== undefined || reported[key] !== undefined) merged[key] = { ...reported[key], ...have[key] };
  }
  if (reported.own_use !== undefined) merged.own_use = { ...have.own_use, ...reported.own_use };
  for (const key of ['steps', 'command'] as const) {
    if (extent(reported[key]) > extent(have[key])) merged[key] = reported[key];
    else if (have[key] !== undefined) merged[key] = have[key];
  }
  if (have.scheduler === 'none' && reported.scheduler !== 'none') merged.scheduler = reported.scheduler;
  else if (reported.scheduler === 'none') merged.scheduler = have.scheduler;
  // a node that did not ask the scheduler calls the job by its number
  const named = [have, ended, other].find(({ name, id }) => name !== '' && name !== id);
  if (named !== undefined) merged.name = named.name;
  merged.nodes = [...new Set([...have.nodes, ...reported.nodes])];
  merged.start = earliest(have.start, reported.start) ?? Number.NaN;
  const end = latest(have.end, reported.end);
  if (end === undefined) delete merged.end;
  else merged.end = end;
  if (ended.exit_code === undefined && weight(ended) > WEIGHT.running) delete merged.exit_code;
  if (ended.reason === undefined && weight(other) < weight(ended)) delete merged.reason;
  merged.format = Math.max(have.format, reported.format);
  return merged as unknown as Job;
}

const finite = (values: readonly (number | undefined)[]): number[] =>
  values.filter((value): value is number => Number.isFinite(value));

function earliest(...values: (number | undefined)[]): number | undefined {
  const numbers = finite(values);
  return numbers.length === 0 ? undefined : Math.min(...numbers);
}

function latest(...values: (number | undefined)[]): number | undefined {
  const numbers = finite(values);
  return numbers.length === 0 ? undefined : Math.max(...numbers);
}
