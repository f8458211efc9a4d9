import type { ProcessSet } from '../query/process-set.ts';
import type { Step } from '../recording/job.ts';
import type { Material } from './material.ts';

/** What Slurm's accounting calls the step of a batch script, whose processes have no step in their environment. */
const BATCH = 'batch';

/** Schedulers tell whole seconds, by a clock that is not the node's. */
const APART = 2e6;

/** As processes know a step, without its job. */
export const numberOf = (step: Step): string => step.id.slice(step.id.lastIndexOf('.') + 1);

/**
 * The step of each process: its own, or that of whoever started it in an environment without any. A job that was submitted
 * from a step of another has the variables of that one: then the process that has them first did not live with the step.
 */
function stepsOf(set: ProcessSet, known: readonly Step[] = []): string[] {
  const byNumber = new Map(known.map((step) => [numberOf(step), step]));
  const livedWith = (i: number): boolean => {
    const { start = Number.NaN, end = Number.NaN } = byNumber.get(set.step[i]!) ?? { start: Number.POSITIVE_INFINITY };
    return !(Math.min(set.birth[i]!, set.start[i]!) < start - APART || set.end[i]! > end + APART);
  };
  const steps = new Array<string>(set.length).fill('');
  for (const i of set.order) {
    const [own, parent] = [set.step[i]!, set.parent[i]!];
    if (parent >= 0 && (own === '' || own === set.step[parent])) steps[i] = steps[parent]!;
    else if (own !== '' && livedWith(i)) steps[i] = own;
  }
  return steps.map((step) => step || BATCH);
}

/** Of records: which are of the step that is asked for, and where those of others are, by node and pid. */
interface StepLives {
  isOwn(i: number): boolean;
  others: ReadonlyMap<string, readonly number[]>;
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
    found = {
      isOwn: (i) => steps[i] === step.id,
      others: Map.groupBy(others, (i) => `${lives.node[i]} ${lives.pid[i]}`),
    };
    made.set(step, found);
  }
  return found;
}

/** Whether records tell which processes belong to this step. */
export function tellsStep(set: ProcessSet | undefined, id: string): boolean {
  return set !== undefined && (id === BATCH || /^\d+$/.test(id)) && set.step.some((step) => step !== '');
}
