/* Math.min(...values) overflows the stack at some hundred thousand values: outside data can have as many. */

/** Infinity when there are none, as Math.min() says. */
export function smallest(values: Iterable<number>): number {
  let least = Number.POSITIVE_INFINITY;
  for (const value of values) least = Math.min(least, value);
  return least;
}

/** −Infinity when there are none, as Math.max() says. */
export function greatest(values: Iterable<number>): number {
  let greatest = Number.NEGATIVE_INFINITY;
  for (const value of values) greatest = Math.max(greatest, value);
  return greatest;
}

/** Puts many behind a list. */
export function append<T>(list: T[], more: Iterable<T>): void {
  for (const each of more) list.push(each);
}
