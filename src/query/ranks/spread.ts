import type { Rank } from './ranks.ts';

/** How a figure is spread over ranks. */
export interface RankSpread {
  min: number;
  mean: number;
  max: number;
}

/** Of the ranks that it is known of; undefined when it is known of none. */
export function spreadOf(ranks: readonly Rank[], value: (rank: Rank) => number): RankSpread | undefined {
  let [min, max, sum, count] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 0, 0];
  for (const rank of ranks) {
    const own = value(rank);
    if (Number.isNaN(own)) continue;
    min = Math.min(min, own);
    max = Math.max(max, own);
    sum += own;
    count++;
  }
  return count === 0 ? undefined : { min, mean: sum / count, max };
}

/** Bytes that its system calls read and wrote. */
export const ioBytes = ({ read_chars, written_chars }: Rank): number =>
  Number.isNaN(read_chars) ? written_chars : Number.isNaN(written_chars) ? read_chars : read_chars + written_chars;

/**
 * The rank with most CPU time: the others wait for it. Waiting for a CPU does not count: a rank that waits for the others by
 * asking again and again is always ready to run.
 */
export function slowestOf(ranks: readonly Rank[]): Rank | undefined {
  let slowest: Rank | undefined;
  for (const rank of ranks) if (rank.cpu_seconds > (slowest?.cpu_seconds ?? -1)) slowest = rank;
  return slowest;
}
