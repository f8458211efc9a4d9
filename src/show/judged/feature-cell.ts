import { energy, figure } from '../../base/readable.ts';
import { featureKind } from '../../judge/outliers/features.ts';
import { cellOf } from '../process/cells.ts';

/** The value of a feature for people. */
export function featureCell(feature: string, value: number): string {
  if (feature === 'energy') return energy(value);
  if (feature === 'gpu_power') return `${figure(value)} W`;
  const kind = featureKind(feature);
  // cycles and the like: nobody reads fourteen digits
  if (kind === 'count' && Math.abs(value) >= 1e10) return value.toPrecision(4).replace('e+', 'e');
  return cellOf(kind, value);
}

/** A score, distance or ratio: few digits; what has no measure is "any". */
export function scoreCell(score: number): string {
  if (score === Number.POSITIVE_INFINITY) return 'any';
  return Number.isNaN(score) ? '-' : figure(Number(score.toPrecision(3)));
}

/** How many times the usual: "1.4 ×"; nothing where the usual is 0. */
export function timesCell(value: number, usual: number): string {
  return usual === 0 || Number.isNaN(value / usual) ? '' : `${figure(Number((value / usual).toPrecision(3)))} x`;
}
