import { quickHash } from '../base/quick-hash.ts';
import { random } from '../base/random.ts';

/** Random numbers that are the same every time: a stream of its own for each thing that is made up. */
export interface Noise {
  /** Evenly between 0 and 1. */
  uniform(): number;
  /** Around 0 with a deviation of 1. */
  normal(): number;
}

/** The stream that belongs to these words, e.g. `noise(7, 'gpu', node, card)`. */
export function noise(...seeds: readonly (string | number)[]): Noise {
  const uniform = random(quickHash(seeds.join('/')));
  return {
    uniform,
    // six even numbers together are close enough to a bell
    normal: () => (uniform() + uniform() + uniform() + uniform() + uniform() + uniform() - 3) * Math.SQRT2,
  };
}
