import { isAlive, isGone, lastSign } from './alive.ts';
import type { Job } from './job.ts';
import type { Recording } from './open.ts';

/** Of a job whose nodes stopped to send: agents keep what they cannot send, and go to another hub when theirs is away. */
export const NOTHING_MORE = 'nothing more came to this hub; the rest may wait on the nodes, or another hub has it';

/** Of a job that was recorded to its end by every node. */
export const NOBODY_SAYS = 'neither the epilog nor the scheduler has said';

/** A job of which nobody says how it ended: that its agents are silent says that it did. Undefined: they are not. */
export function silentEnd(recording: Pick<Recording, 'job' | 'nodes'>, now?: number): Job | undefined {
  const { job, nodes } = recording;
  const last = lastSign(recording);
  if (last === undefined || nodes.length === 0) return undefined;
  if (nodes.some((node) => isAlive(node, now))) return undefined;
  const endReason = nodes.map(({ agent }) => agent?.end_reason).find((reason) => reason !== undefined);
  const killed = nodes.every(({ agent }) => agent !== undefined && agent.end === undefined && isGone(agent));
  return {
    ...job,
    state: 'unknown',
    end: last,
    reason:
      endReason !== undefined
        ? `recording ended: ${endReason}`
        : killed
          ? 'the recorder was killed: how the job ended is not known'
          : nodes.some(({ agent }) => agent?.service === true)
            ? NOTHING_MORE
            : 'recording ended without `tacho stop`',
  };
}
