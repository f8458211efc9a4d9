import type { Step } from '../../recording/folder/job.ts';
import { RECORD_DELAY, SAMPLE_CLOCK, SCHEDULER_CLOCK } from '../../sources/process/same-process.ts';
import { isExact, type ProcessSet } from '../processes/set.ts';

/** What Slurm's accounting calls the step of a batch script, whose processes have no step in their environment. */
const BATCH = 'batch';

/** As processes know a step, without its job. */
export const numberOf = (step: Step): string => step.id.slice(step.id.lastIndexOf('.') + 1);

/**
 * The step of each process: its own, or that of whoever started it in an environment without any. A job that was submitted
 * from a step of another has the variables of that one: then the process that has them first did not live with the step.
 */
export function stepsOf(set: ProcessSet, knownSteps?: readonly Step[]): string[] {
  const byNumber = new Map(knownSteps?.map((step) => [numberOf(step), step]));
  const livedWith = (i: number): boolean => {
    if (knownSteps === undefined) return true;
    const { start = Number.NaN, end = Number.NaN } = byNumber.get(set.step[i]!) ?? { start: Number.POSITIVE_INFINITY };
    // the end of one that did not tell of it is when it was sampled last, or later
    const ended = isExact(set, i) ? set.end[i]! : Number.NaN;
    return !(Math.min(set.birth[i]!, set.start[i]!) < start - SCHEDULER_CLOCK || ended > end + SCHEDULER_CLOCK);
  };
  const steps = new Array<string>(set.length).fill('');
  for (const i of set.order) {
    const [own, parent] = [set.step[i]!, set.parent[i]!];
    if (parent >= 0 && (own === '' || own === set.step[parent])) steps[i] = steps[parent]!;
    else if (own !== '' && livedWith(i)) steps[i] = own;
  }
  return steps.map((step) => step || BATCH);
}

/** Whether records tell which processes belong to this step. */
export function tellsStep(set: ProcessSet | undefined, id: string): boolean {
  return set !== undefined && (id === BATCH || /^\d+$/.test(id)) && set.step.some((step) => step !== '');
}

/** When a step ran by the records of its processes, in epoch microseconds; whole: all of them told of their end. */
export interface RecordedStep {
  from: number;
  to: number;
  whole: boolean;
}

/** undefined when records do not tell, or tell of so little that they disagree with the scheduler's whole seconds. */
export function recordedStep(set: ProcessSet, steps: readonly string[], step: Step): RecordedStep | undefined {
  const id = numberOf(step);
  const span: RecordedStep = { from: Number.POSITIVE_INFINITY, to: Number.NEGATIVE_INFINITY, whole: true };
  for (let i = 0; i < set.length; i++) {
    if (steps[i] !== id) continue;
    span.from = Math.min(span.from, set.start[i]!);
    if (isExact(set, i)) span.to = Math.max(span.to, set.end[i]!);
    else span.whole = false;
  }
  const { start = Number.NaN, end = Number.NaN } = step;
  return isNearSecond(span.from, start) && isNearSecond(span.to, end) ? span : undefined;
}

/** Schedulers cut moments to the second that they are in. */
const isNearSecond = (moment: number, second: number): boolean =>
  moment >= second - SCHEDULER_CLOCK / 2 && moment < second + SCHEDULER_CLOCK;

/** Which processes are a step's. */
export interface StepOwner {
  /** Of records. */
  isOwn(i: number): boolean;
  /** Whether a process that only sampling saw may be, as it began while the step ran. */
  mayOwn(began: number): boolean;
}

export function stepOwner(set: ProcessSet, knownSteps: readonly Step[] | undefined, id: string): StepOwner {
  const steps = stepsOf(set, knownSteps);
  const asked = knownSteps?.find((each) => numberOf(each) === id);
  const span = asked && recordedStep(set, steps, asked);
  // a task may wait for the others before it becomes the program that it is to be
  const first = span === undefined ? (asked?.start ?? Number.NaN) - SCHEDULER_CLOCK : span.from - SAMPLE_CLOCK;
  const last = span === undefined ? (asked?.end ?? Number.NaN) + SCHEDULER_CLOCK : span.to + RECORD_DELAY;
  return { isOwn: (i) => steps[i] === id, mayOwn: (began) => !(began < first || began > last) };
}
