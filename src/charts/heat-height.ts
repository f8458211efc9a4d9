import { MARGINS } from './option.ts';

/** How high a heat map of so many rows is on a screen. */
export const heatHeight = (rows: number): number =>
  Math.min(900, Math.max(150, rows * (rows > 24 ? 7 : 16) + MARGINS.heat.top + MARGINS.heat.bottom + 4));
