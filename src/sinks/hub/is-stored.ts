import { BEGINNING } from '../../recording/live/position.ts';
import { Tail } from '../../recording/live/tail.ts';
import type { Sink } from '../sink.ts';
import type { StreamState } from '../spool/streams.ts';

/** Whether a sink has stored everything that there is of a stream, and, when it has ended, knows that. */
export function isStored(sink: Sink, state: StreamState): boolean {
  if (state.ended && sink.done?.(state) === false) return false;
  for (const [table, listed] of state.parts) {
    const tail = new Tail(state.folder, table, state.owner);
    tail.listed = state.owner === undefined ? undefined : listed;
    try {
      if (tail.wholeLines(sink.stored(state, table) ?? BEGINNING, 1 << 16, true) !== undefined) return false;
    } finally {
      tail.close();
    }
  }
  return true;
}
