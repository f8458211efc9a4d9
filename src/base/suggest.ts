/** How many letters must be inserted, removed, replaced or swapped to turn one word into the other. */
function distance(a: string, b: string): number {
  let older: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      row[j] = Math.min(last[j]! + 1, row[j - 1]! + 1, last[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        row[j] = Math.min(row[j]!, older[j - 2]! + 1);
    }
    older = last;
    last = row;
  }
  return last[b.length]!;
}

/** For the end of a message about a word that is not known. */
export function didYouMean(word: string, candidates: readonly string[]): string {
  const meant = suggest(word, candidates);
  return meant === undefined ? '' : `; did you mean "${meant}"?`;
}

/** The word that was probably meant, or undefined when none is near. */
export function suggest(word: string, candidates: readonly string[]): string | undefined {
  const lower = word.toLowerCase();
  const near = Math.max(1, Math.floor(lower.length / 3));
  let best: string | undefined;
  let least = near + 1;
  for (const candidate of candidates) {
    const d = distance(lower, candidate.toLowerCase());
    if (d < least) {
      best = candidate;
      least = d;
    }
  }
  if (best !== undefined) return best;
  return lower.length >= 3 ? candidates.find((candidate) => candidate.toLowerCase().startsWith(lower)) : undefined;
}
