import { listed } from '../../../base/readable.ts';
import { stated } from '../../../base/stated.ts';
import type { Step } from '../../../recording/folder/job.ts';
import type { FailedStep } from '../../report-schema.ts';

/** How steps end that went wrong; one that was cancelled was no longer wanted. */
const ENDS: Record<string, string> = {
  failed: 'failed',
  timeout: 'reached its time limit',
  out_of_memory: 'used more memory than it was given, and was killed',
  node_fail: 'lost a node',
};

/** The steps that went wrong. The batch script's own is the job, whose state does not tell that memory ran out. */
export function failedSteps(steps: readonly Step[]): FailedStep[] {
  return steps.flatMap(({ id, name, state, exit_code }) =>
    (id === 'batch' && state !== 'out_of_memory') || state === undefined || !(state in ENDS)
      ? []
      : [{ id, ...stated({ name }), state, ...stated({ exit_code }) }],
  );
}

export const stepEnd = ({ state, exit_code }: FailedStep): string =>
  state === 'failed' && exit_code !== undefined ? `ended with exit code ${exit_code}` : ENDS[state]!;

export const stepName = ({ id, name }: FailedStep): string => `${id}${name === undefined ? '' : ` (${name})`}`;

/** "step 0 (solve)", "steps 0 (solve) and 2". */
export const stepList = (steps: readonly FailedStep[]): string =>
  `${steps.length === 1 ? 'step' : 'steps'} ${listed(steps.map(stepName))}`;

/** Ends of a job that have rules of their own. */
export const hasOwnRule = (state: string): boolean =>
  state === 'timeout' || state === 'out_of_memory' || state === 'node_fail';
