import type { Position } from '../recording/live/position.ts';
import type { Stream } from '../recording/live/stream.ts';
import type { StreamState } from './spool/streams.ts';

/**
 * Where samples go besides the files: a hub, Kafka, VictoriaMetrics. A sink reads what was written (src/recording/live/tail.ts),
 * sends it in its own time, and says how far everything is surely stored over there. Until then the files stay.
 */
export interface Sink {
  /** As a user knows it: `hub https://hub:8471`, `kafka broker:9092`. */
  readonly name: string;
  /** Something may have been written: send what there is, `atOnce` without collecting more. Returns at once and never throws. */
  wake(atOnce?: boolean): void;
  /** Everything before this is stored over there, whatever fails from now on. Undefined: nothing yet. */
  stored(stream: Stream, table: string): Position | undefined;
  /** Something may be over there up to here, although nobody has said so. Without it: what `stored` says. */
  sent?(stream: Stream, table: string): Position | undefined;
  /** Nothing of an ended stream is missing over there, its records included. Without it: `stored` says enough. */
  done?(stream: StreamState): boolean;
  /** Files that are stored over there are still wanted until the stream is done, while there is room for them. */
  readonly keepsUntilDone?: boolean;
  /** The recording is gone for good. */
  forget?(stream: Stream): void;
  /** What keeps it from sending, in words, a line for each thing; undefined while all is well. */
  readonly trouble: string | undefined;
  /** Where samples go instead of where they should, while those who come first are away. */
  readonly instead?: string | undefined;
  /** Sends what is left, for at most so long, and ends. */
  close(seconds: number): Promise<void>;
}
