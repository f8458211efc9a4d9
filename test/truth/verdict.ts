import type { Figure } from './ground.ts';

/** What Tacho says, divided by the truth; NaN when it says nothing. */
export function ratioOf({ tacho, truth }: Figure): number {
  if (tacho === undefined) return Number.NaN;
  return tacho === truth ? 1 : tacho / truth;
}

/** Whether a figure keeps what is documented of it. */
export function isWithin({ tacho, truth, share, beside }: Figure): boolean {
  if (tacho === undefined || !Number.isFinite(tacho)) return false;
  return Math.abs(tacho - truth) <= share * Math.abs(truth) + beside;
}

/** In words. */
export function verdictOf(figure: Figure): string {
  const away = Math.abs(ratioOf(figure) - 1);
  if (Number.isNaN(away)) return 'not measured';
  // the third digit decides, not the rounding of binary fractions
  if (away <= 0.01 + 1e-9) return 'within 1 %';
  if (away <= 0.02 + 1e-9) return 'within 2 %';
  return isWithin(figure) ? 'within its bound' : 'off';
}
