/**
 * Ticks are whole multiples of their interval; the first and the last sample, and ticks that are late, lie beside them.
 * Time is cut into cells, each with one such multiple in its middle, and rates are taken from the last sample of a cell to
 * that of the next one that has any: a little growth between two samples that happen to be close together is no peak. What
 * grew in the first cell is a rate of its own when half an interval passed, and else one with the next cell; so is a last
 * sample with the cell before it. These two may be the highest and the lowest, but are no part of percentiles, which are of
 * whole cells. A store is asked the same way, so all of this is in its whole milliseconds.
 */

/** How far behind the multiple in its middle a cell ends; that moment is the last in it. */
export const cellEnd = (interval: number): number => Math.max(1, Math.floor(interval / 2) - 1);

/** The number of the cell that a moment, in epoch microseconds, lies in: the multiple in its middle. */
export const cellOf = (time: number, interval: number): number =>
  Math.ceil((Math.floor(time / 1000) - cellEnd(interval)) / interval);

/** Whether less than half an interval lies between two moments in epoch microseconds: too little for a rate. */
export const isShort = (from: number, to: number, interval: number): boolean =>
  (Math.floor(to / 1000) - Math.floor(from / 1000)) * 2 < interval;
