import { random } from '../base/random.ts';

/** Random numbers that are the same every time: a stream of its own for each thing that is made up. */
export interface Noise {
  /** Evenly between 0 and 1. */
  uniform(): number;
  /** Around 0 with a deviation of 1. */
  normal(): number;
}

/** The stream that belongs to these words, e.g. `noise(7, 'gpu', node, card)`. */
export function noise(...words: readonly (string | number)[]): Noise {
  const uniform = random(hash(words.join('/')));
  return {
    uniform,
    // six even numbers together are close enough to a bell
    normal: () => (uniform() + uniform() + uniform() + uniform() + uniform() + uniform() - 3) * Math.SQRT2,
  };
}

/** FNV-1a. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193);
  return value | 0;
}
