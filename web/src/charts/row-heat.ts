import type { ChartData } from '../ask.ts';

type Row = { node: string; mean: (number | null)[] };
type What = Pick<ChartData, 'id' | 'title' | 'unit' | 'scope' | 'from' | 'step'>;

/** Rows over time as a heat map; the band has the mean of those that are known. */
export function rowHeat(what: What, series: Row[], steps: number): ChartData {
  const means = Array.from({ length: steps }, (_, i) => {
    const values = series.flatMap(({ mean }) => mean[i] ?? []);
    return values.length === 0 ? null : values.reduce((a, b) => a + b, 0) / values.length;
  });
  const band = { min: means, mean: means, max: means, sum: means };
  return { ...what, source: '', as: 'heat', count: series.length, series, band };
}
