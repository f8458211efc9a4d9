/* Math.min(...values) overflows the stack at some hundred thousand values: outside data can have as many. */

/** Infinity when there are none, as Math.min() says. */
export function smallest(values: Iterable<number>): number {
  let found = Number.POSITIVE_INFINITY;
  for (const value of values) found = Math.min(found, value);
  return found;
}

/** −Infinity when there are none, as Math.max() says. */
export function greatest(values: Iterable<number>): number {
  let found = Number.NEGATIVE_INFINITY;
  for (const value of values) found = Math.max(found, value);
  return found;
}

/** Puts many behind a list. */
export function append<T>(list: T[], more: Iterable<T>): void {
  for (const each of more) list.push(each);
}
