import type { Position } from './position.ts';
import type { Stream } from './stream.ts';

/**
 * Where samples go besides the files: a hub, Kafka, VictoriaMetrics. A sink reads what was written (src/sinks/tail.ts),
 * sends it in its own time, and says how far everything is surely stored over there. Until then the files stay.
 */
export interface Sink {
  /** As a user knows it: `hub https://hub:8471`, `kafka broker:9092`. */
  readonly name: string;
  /** Something may have been written: send what there is. Returns at once and never throws. */
  wake(): void;
  /** Everything before this is stored over there, whatever fails from now on. Undefined: nothing yet. */
  stored(stream: Stream, table: string): Position | undefined;
  /** What keeps it from sending, in words; undefined while all is well. */
  readonly trouble: string | undefined;
  /** Sends what is left, for at most so long, and ends. */
  close(seconds: number): Promise<void>;
}
