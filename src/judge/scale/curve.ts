import type { Prediction } from './fit.ts';
import type { Study } from './study.ts';

const STEPS = 32;

/** Sizes from the smallest to the largest that is shown: the recommended one, too, unless it is far away. */
export function shownSizes({ smallest, largest, recommended }: Study): [from: number, to: number] {
  const wanted = recommended === undefined ? largest : Math.min(recommended.size, largest * 2);
  return [smallest, Math.max(largest, wanted)];
}

/** The law that fits best, at sizes that stand equally far apart in doublings; undefined: no law fits. */
export function lawCurve(study: Study): ({ size: number } & Prediction)[] | undefined {
  const { predict } = study;
  if (predict === undefined) return undefined;
  const [from, to] = shownSizes(study);
  return Array.from({ length: STEPS + 1 }, (_, i) => {
    const size = from * (to / from) ** (i / STEPS);
    return { size, ...predict(size) };
  });
}
