import { numberOf, recordedStep, stepsOf } from '../../query/spans/steps.ts';
import { RECORD_DELAY, SAMPLE_CLOCK, SCHEDULER_CLOCK } from '../../sources/process/same-process.ts';
import type { Material } from '../facts/material.ts';

/** Of records: which are of the step that is asked for, and where those of others are, by node and pid. */
interface StepLives {
  isOwn(i: number): boolean;
  others: ReadonlyMap<string, readonly number[]>;
  /** Whether a process that only sampling saw may be the step's, as it began while that ran. */
  mayOwn(began: number): boolean;
}

/** Put together once for all nodes of a report. */
const made = new WeakMap<object, StepLives>();

/** undefined when no step is asked for, or records do not tell of steps. */
export function stepLives({ lives, range, job }: Pick<Material, 'lives' | 'range' | 'job'>): StepLives | undefined {
  const step = range?.step;
  if (lives === undefined || step === undefined) return undefined;
  let found = made.get(step);
  if (found === undefined) {
    const steps = stepsOf(lives, job.steps);
    const others = steps.flatMap((each, i) => (each === step.id ? [] : i));
    const asked = job.steps?.find((each) => numberOf(each) === step.id);
    const span = asked && recordedStep(lives, steps, asked);
    // a task may wait for the others before it becomes the program that it is to be
    const first = span === undefined ? (asked?.start ?? Number.NaN) - SCHEDULER_CLOCK : span.from - SAMPLE_CLOCK;
    const last = span === undefined ? (asked?.end ?? Number.NaN) + SCHEDULER_CLOCK : span.to + RECORD_DELAY;
    found = {
      mayOwn: (began) => !(began < first || began > last),
      isOwn: (i) => steps[i] === step.id,
      others: Map.groupBy(others, (i) => `${lives.node[i]} ${lives.pid[i]}`),
    };
    made.set(step, found);
  }
  return found;
}
