/**
 * A part of a job begins and ends between two samples. What a counter had reached there lies on the line between them: so
 * much of a step belongs to the part as lies in it. Of a store the same is asked.
 */

/** Two samples that lie further apart than so many intervals have a gap between them, of which nobody knows. */
const FARTHEST = 3;

/** How far apart, at most, two samples may lie for what is between them to be known; in the unit of `interval`. */
export const farthest = (interval: number): number => (interval > 0 ? FARTHEST * interval : Number.POSITIVE_INFINITY);

/** A sample before a moment, and the next one. */
export interface Around {
  before: number;
  after: number;
}

/**
 * How much (0 to 1) of the step between two samples lies before a moment. In a sparse table a row is written at the tick
 * after something changed, so a step took one interval at most, however long ago the row before it was.
 */
export function shareBefore(moment: number, { before, after }: Around, interval?: number): number {
  const begin = interval !== undefined && interval > 0 ? Math.max(before, after - interval) : before;
  return Math.min(1, Math.max(0, (moment - begin) / (after - begin)));
}

/** What a counter grew by from one sample to the next. One that fell began again at zero. */
export const grown = (before: number, after: number): number => (after >= before ? after - before : after);
