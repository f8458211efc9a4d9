export interface Extra {
  /** In % of what it takes without. */
  median: number;
  /** Half of all lie between these two. */
  quartiles: [low: number, high: number];
}

/**
 * What something costs more, by measurements in the order without, with, with, without: of each four one difference, in
 * which whatever drifts meanwhile falls on both alike; of the differences the median, which a burst of others' work leaves alone.
 */
export function pairedExtra(without: readonly number[], withIt: readonly number[]): Extra {
  const extras: number[] = [];
  for (let i = 0; i + 1 < without.length; i += 2) {
    const bare = without[i]! + without[i + 1]!;
    extras.push(((withIt[i]! + withIt[i + 1]!) / bare - 1) * 100);
  }
  const sorted = extras.sort((a, b) => a - b);
  const at = (share: number): number => sorted[Math.round((sorted.length - 1) * share)]!;
  return { median: at(0.5), quartiles: [at(0.25), at(0.75)] };
}
