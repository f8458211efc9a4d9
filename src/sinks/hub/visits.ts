import { type Stream, streamKey } from '../../recording/live/stream.ts';
import type { StreamState, Streams } from '../spool/streams.ts';

interface Visit {
  state: StreamState;
  /** When it began, by the steady clock. */
  at: number;
  number: number;
}

/** What had nothing to send, and to which nobody is known to have written, is read once in so many rounds, in turn. */
const EVERY = 30;

/** Which streams have to be read again. Most of those that a hub knows are at rest. */
export class Visits {
  private readonly streams: Streams;
  private readonly idle = new Map<string, Visit>();
  private rounds = 0;
  private numbers = 0;

  constructor(streams: Streams) {
    this.streams = streams;
  }

  nextRound(): void {
    this.rounds++;
  }

  isDue(state: StreamState): boolean {
    const { streams } = this;
    if (streams.lastWrite === undefined) return true;
    const visit = this.idle.get(streamKey(state));
    if (visit === undefined || visit.state !== state) return true;
    return (streams.lastWrite(state) ?? 0) >= visit.at || (this.rounds + visit.number) % EVERY === 0;
  }

  /**
   * It was read from `at` on; `nothing`: there was nothing to send. True: nor was there the last time, many rounds ago, and
   * what is open for it can be closed.
   */
  visited(state: StreamState, at: number, nothing: boolean): boolean {
    const key = streamKey(state);
    const before = this.idle.get(key);
    if (nothing) this.idle.set(key, { state, at, number: before?.number ?? this.numbers++ });
    else this.idle.delete(key);
    return nothing && before?.state === state && this.streams.lastWrite !== undefined;
  }

  forget(stream: Stream): void {
    this.idle.delete(streamKey(stream));
  }

  /** What was sent may not have come to anything: all have to be read again. */
  forgetAll(): void {
    this.idle.clear();
  }
}
