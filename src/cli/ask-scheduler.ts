import { isSettled } from '../jobs/schedulers/is-settled.ts';
import type { SpanQuery } from '../query/spans/select.ts';
import type { Recording } from '../recording/folder/open.ts';

/** Steps are known to the scheduler: it is asked when one is meant. */
export async function askForSteps(recordings: readonly Recording[], { step }: SpanQuery): Promise<void> {
  if (step === undefined) return;
  for (const recording of recordings) {
    if (isSettled(recording, true)) continue;
    const { refreshJob } = await import('../jobs/schedulers/refresh.ts');
    recording.job = await refreshJob(recording, { steps: true });
  }
}
