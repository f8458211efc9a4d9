export interface Extra {
  /** In % of what it takes without. */
  median: number;
  /** Half of all lie between these two. */
  quartiles: [low: number, high: number];
  /** In which the median lies with 95 %. */
  interval: [low: number, high: number];
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
  return { median: at(0.5), quartiles: [at(0.25), at(0.75)], interval: medianInterval(sorted) };
}

const DRAWS = 2000;

/** Between which the median lies with 95 %: the bootstrap, the same draws in every run. */
export function medianInterval(values: readonly number[]): [low: number, high: number] {
  let state = 1;
  const draw = (): number => {
    // Park and Miller's generator
    state = (state * 48_271) % 2_147_483_647;
    return values[state % values.length]!;
  };
  const medians = Array.from({ length: DRAWS }, () => {
    const drawn = values.map(draw).sort((a, b) => a - b);
    const half = drawn.length >> 1;
    return drawn.length % 2 === 1 ? drawn[half]! : (drawn[half - 1]! + drawn[half]!) / 2;
  }).sort((a, b) => a - b);
  return [medians[Math.round(DRAWS * 0.025)]!, medians[Math.round(DRAWS * 0.975) - 1]!];
}
