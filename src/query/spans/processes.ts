import { usage } from '../../base/fault.ts';
import { listed } from '../../base/readable.ts';
import type { Step } from '../../recording/folder/job.ts';
import { type ProcessColumns, type ProcessJob, type ProcessSet, pickProcesses } from '../processes/set.ts';
import { linkProcesses } from '../processes/tree.ts';
import { intervalsOf, type Selection, type SpanQuery } from './select.ts';
import { stepsOf } from './steps.ts';

/** What is selected of a job whose processes are looked at. */
export interface SelectedJob {
  /** undefined: all of it. */
  selection: Selection | undefined;
  /** Those that its scheduler told of. */
  steps?: readonly Step[] | undefined;
}

/**
 * The processes that ran in what is selected of their job, with all that is known of each; of a step that records tell of,
 * its own. By the place of a job in `jobs`; a job that is not there has none.
 */
export function processesIn(columns: ProcessColumns, selected: ReadonlyMap<number, SelectedJob>): ProcessSet {
  const set = linkProcesses(columns);
  const isWhole = set.jobs.every((_, job) => selected.has(job) && selected.get(job)!.selection === undefined);
  if (isWhole) return set;
  const ofStep = new Map<number, string[]>();
  for (const [job, { selection, steps }] of selected)
    if (selection?.step !== undefined) ofStep.set(job, stepsOf(set, steps));
  const rowIndexes: number[] = [];
  for (let i = 0; i < set.length; i++) {
    const job = selected.get(set.job[i]!);
    if (job === undefined) continue;
    const { selection } = job;
    if (selection?.nodes?.includes(set.node[i]!) === false) continue;
    if (selection?.step !== undefined && ofStep.get(set.job[i]!)![i] !== selection.step.id) continue;
    if (selection?.step?.whole !== true && !ranIn(set, i, selection)) continue;
    rowIndexes.push(i);
  }
  return linkProcesses(pickProcesses(set, rowIndexes));
}

/** Of a process without a known end only its start is certain. */
function ranIn({ start, end }: ProcessColumns, i: number, selection: Selection | undefined): boolean {
  const last = Number.isNaN(end[i]!) ? start[i]! : end[i]!;
  return intervalsOf(selection).some(([from, to]) => start[i]! <= to && last >= from);
}

/** What is asked for of a job that is in a database, which has processes and their steps, but no phases. */
export function selectStored(job: ProcessJob, steps: readonly string[], query: SpanQuery): Selection | undefined {
  const { from, to, step, marker } = query;
  if (marker !== undefined) throw usage('a database has no phases', 'name the recording instead of the job');
  if (step !== undefined && !steps.includes(step)) {
    const hint = steps.length === 0 ? 'its steps are not known' : `it has ${listed(steps, 8)}`;
    throw usage(`job ${job.id} has no step ${step}`, hint);
  }
  if (from === undefined && to === undefined && step === undefined) return undefined;
  return {
    what: step === undefined ? 'the time asked for' : `step ${step}`,
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
    ...(step === undefined ? {} : { step: { id: step, whole: from === undefined && to === undefined } }),
  };
}
