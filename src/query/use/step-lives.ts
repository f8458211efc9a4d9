import { RECORD_DELAY, SAMPLE_CLOCK, SCHEDULER_CLOCK } from '../../sources/process/same-process.ts';
import { type Material, wholeOf } from '../material.ts';
import { numberOf, recordedStep, stepsOf } from '../spans/steps.ts';

/** Of records: which are of the step that is asked for. */
interface StepLives {
  isOwn(i: number): boolean;
  /** Whether a process that only sampling saw may be the step's, as it began while that ran. */
  mayOwn(began: number): boolean;
}

/** Put together once for all nodes of a report. */
const made = new WeakMap<object, StepLives>();

/** undefined when no step is asked for, or records do not tell of steps. */
export function stepLives(material: Material): StepLives | undefined {
  const { range, job } = material;
  const { processes: set } = wholeOf(material);
  const step = range?.step;
  if (set === undefined || step === undefined) return undefined;
  let found = made.get(step);
  if (found === undefined) {
    const steps = stepsOf(set, job.steps);
    const asked = job.steps?.find((each) => numberOf(each) === step.id);
    const span = asked && recordedStep(set, steps, asked);
    // a task may wait for the others before it becomes the program that it is to be
    const first = span === undefined ? (asked?.start ?? Number.NaN) - SCHEDULER_CLOCK : span.from - SAMPLE_CLOCK;
    const last = span === undefined ? (asked?.end ?? Number.NaN) + SCHEDULER_CLOCK : span.to + RECORD_DELAY;
    found = {
      mayOwn: (began) => !(began < first || began > last),
      isOwn: (i) => steps[i] === step.id,
    };
    made.set(step, found);
  }
  return found;
}
