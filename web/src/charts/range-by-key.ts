/** From when to when, epoch microseconds. */
export interface Range {
  from: number;
  to: number;
}

/** Keys do not zoom further, in microseconds. */
const SHORTEST = 1e6;

/** What a key makes of the time that is drawn; undefined: nothing. */
export function rangeByKey(key: string, { from, to }: Range, whole: Range): Range | undefined {
  const width = to - from;
  const all = whole.to - whole.from;
  const at = (start: number, length: number): Range => {
    const first = Math.min(Math.max(start, whole.from), whole.to - length);
    return { from: first, to: first + length };
  };
  if (key === '+' || key === '=') return at(from + width / 4, Math.max(width / 2, Math.min(all, SHORTEST)));
  if (key === '-') return at(from - width / 2, Math.min(2 * width, all));
  if (key === 'ArrowLeft') return at(from - width / 4, Math.min(width, all));
  if (key === 'ArrowRight') return at(from + width / 4, Math.min(width, all));
  return key === 'Home' ? whole : undefined;
}
