import type { Figure } from '../test/truth/ground.ts';

const VERDICTS = ['within 1 %', 'within 2 %', 'within its bound', 'off', 'not measured'] as const;

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
export function verdictOf(figure: Figure): (typeof VERDICTS)[number] {
  const away = Math.abs(ratioOf(figure) - 1);
  if (Number.isNaN(away)) return 'not measured';
  // the third digit decides, not the rounding of binary fractions
  if (away <= 0.01 + 1e-9) return 'within 1 %';
  if (away <= 0.02 + 1e-9) return 'within 2 %';
  return isWithin(figure) ? 'within its bound' : 'off';
}

export function ratioText(figure: Figure): string {
  const ratio = ratioOf(figure);
  return Number.isNaN(ratio) ? '-' : ratio.toFixed(4);
}

/** How many figures have which verdict, and how many are beyond their bounds. */
export function countedVerdicts(figures: readonly Figure[]): string {
  const byVerdict = Map.groupBy(figures, verdictOf);
  const counted = VERDICTS.flatMap((verdict) =>
    byVerdict.has(verdict) ? [`${byVerdict.get(verdict)!.length} ${verdict}`] : [],
  );
  const beyond = figures.filter((figure) => !isWithin(figure)).length;
  return `${counted.join(', ')}; ${beyond === 0 ? 'none' : beyond} beyond ${beyond === 1 ? 'its bound' : 'their bounds'}`;
}
