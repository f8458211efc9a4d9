import { duration } from './selector.ts';

/** The label that holds the name of a metric in a calculation: sums of series of several names need these as a label. */
export const NAME = 'tacho_metric';

/** Which samples of which series a calculation is about. Times are epoch milliseconds. */
export interface Cells {
  /** As a selector. */
  series: string;
  from: number;
  to: number;
  every: number;
  /** How far behind its middle a cell ends. */
  ahead: number;
  /** How far back the sample before a cell may lie. */
  back: number;
}

/** Rates from cell to cell, as recordings have them (see rate-cells.ts), as queries on a grid of the middles of cells. */
interface Calculation {
  /** What comes before the query: the definitions of what is used in it. */
  given: string;
  rates: string;
}

/**
 * All that the calculations are made of: of a cell the last sample (its time, its value, what grew since the one before, and the
 * time of that), and of the series the first and the last one, wherever the grid stands.
 */
function definitions({ series, from, to, every, ahead, back }: Cells): string {
  const named = (name: string, call: string, window: string): string =>
    `${name} = label_copy(${call}(s${window}) keep_metric_names, "__name__", "${NAME}")`;
  const cell = `[${duration(every)}] offset -${duration(ahead)}`;
  const before = `[${duration(back)}] offset ${duration(every - ahead)}`;
  // a window of MetricsQL is open where it begins
  const all = `[${duration(to - from + 1)}] @ ${to / 1000}`;
  const parts = [
    named('time_', 'tlast_over_time', cell),
    named('value_', 'last_over_time', cell),
    named('grown_', 'increase', cell),
    named('before_', 'tlast_over_time', before),
    named('first_', 'tfirst_over_time', all),
    named('first_value_', 'first_over_time', all),
    named('last_', 'tlast_over_time', all),
    named('last_value_', 'last_over_time', all),
  ];
  return `WITH (s = ${series}, ${parts.join(', ')})`;
}

/** Half an interval in seconds, a little less: moments since 1970 are not exact to the last digit. */
const half = ({ every }: Cells): number => every / 2000 - 5e-4;

/** What a counter grew by from one value to another; one that fell began again at zero. */
const growth = (from: string, to: string): string => `(((${to} - ${from}) >= 0) default ${to})`;

/** From the last sample of a cell to that of the next; a last sample that is too close to the one before makes none. */
export function cellRates(cells: Cells): Calculation {
  const seconds = `((time_ - before_) >= ${half(cells)} * (time_ == bool last_))`;
  return { given: definitions(cells), rates: `grown_ / ${seconds}` };
}

/** From the first sample to the end of the first cell that is far enough from it. */
export function firstRate(cells: Cells): Calculation {
  const seconds = `((time_ - first_) >= ${half(cells)})`;
  const isFirst = `(((before_ - first_) default -1) < ${half(cells)})`;
  return { given: definitions(cells), rates: `${growth('first_value_', 'value_')} / ${seconds} if ${isFirst}` };
}

/** A last sample that is too close to the cell before it, together with that. */
export function lastRate(cells: Cells): Calculation {
  const grown = `(grown_ + ${growth('value_', 'last_value_')})`;
  const seconds = '(last_ - (before_ >= first_))';
  const isLast = `(((last_ - time_) > 0) < ${half(cells)})`;
  return { given: definitions(cells), rates: `${grown} / ${seconds} if ${isLast}` };
}
