/** Longer tables are folded to what matters. */
export const MOST_ROWS = 16;

export interface Folded<T> {
  rows: T[];
  /** How many are not shown. */
  hidden: number;
}

/**
 * Of a long list: those that something is the matter with, and the two at each end of the scale. Their order stays.
 * A short list stays whole.
 */
export function foldRows<T>(
  all: readonly T[],
  matters: (row: T) => boolean,
  value: (row: T) => number | undefined,
  most = MOST_ROWS,
): Folded<T> {
  if (all.length <= most) return { rows: [...all], hidden: 0 };
  const ranked = all.filter((row) => value(row) !== undefined).sort((a, b) => value(a)! - value(b)!);
  const ends = new Set([...ranked.slice(0, 2), ...ranked.slice(-2)]);
  const flagged = new Set(all.filter(matters).slice(0, most - ends.size));
  const rows = all.filter((row) => flagged.has(row) || ends.has(row));
  return { rows, hidden: all.length - rows.length };
}
