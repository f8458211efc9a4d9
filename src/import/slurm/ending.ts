import { stated } from '../../base/stated.ts';
import { exitOf, PUT_BACK, reasonOf, stateOf } from '../../jobs/schedulers/slurm-ending.ts';
import type { SacctJob } from './sacct-job.ts';

type Ending = Pick<SacctJob, 'state' | 'exit_code' | 'signal' | 'reason'>;

/** How a job ended, from Slurm's words: COMPLETED, CANCELLED by 1000, NODE_FAIL. */
export function endingOf(stateText: string, exit: string | undefined, why?: string): Ending {
  if (stateText.startsWith('PENDING'))
    return stated({ state: 'pending' as const, reason: isSaid(why) ? why : undefined });
  if (stateText.startsWith('RESIZING')) return { state: 'resizing' };
  const state = stateOf(stateText);
  if (state === 'running') return { state };
  const by = /^CANCELLED by (\d+)/.exec(stateText)?.[1];
  const reason =
    by !== undefined ? `cancelled by uid ${by}` : stateText.startsWith('REQUEUED') ? PUT_BACK : reasonOf(state);
  return stated({ state, ...exitOf(state, exit), reason });
}

const isSaid = (why: string | undefined): boolean => why !== undefined && why !== '' && why !== 'None';
