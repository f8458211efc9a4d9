import type { ProcessSet } from '../query/process-set.ts';

/** What Slurm's accounting calls the step of a batch script, whose processes have no step in their environment. */
const BATCH = 'batch';

/** The step of each process: its own, or that of whoever started it in an environment without any. */
export function stepsOf(set: ProcessSet): string[] {
  const steps = set.step.slice(0, set.length);
  for (const i of set.order) if (steps[i] === '' && set.parent[i]! >= 0) steps[i] = steps[set.parent[i]!]!;
  return steps.map((step) => step || BATCH);
}

/** Whether records tell which processes belong to this step. */
export function tellsStep(set: ProcessSet | undefined, id: string): boolean {
  return set !== undefined && (id === BATCH || /^\d+$/.test(id)) && set.step.some((step) => step !== '');
}
