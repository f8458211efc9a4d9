import { cell } from '../base/csv.ts';
import type { Drawing } from './draw.ts';

/** Long enough for every value that was measured. */
const DIGITS = 9;

/** The values behind a chart: one row for each step and series that has any. */
export function chartCsv({ chart, from, step, steps, series }: Drawing): string {
  const keys = chart.key?.split(' ') ?? [];
  const rows = [['time', 'node', ...keys, 'min', 'mean', 'max'].join(',')];
  for (let i = 0; i < steps; i++) {
    const time = new Date((from + i * step) / 1000).toISOString();
    for (const { node, key, min, mean, max } of series) {
      if (Number.isNaN(mean[i]!)) continue;
      const named = [node, ...(keys.length < 2 ? (key === undefined ? [] : [key]) : (key ?? '').split(' '))];
      rows.push([time, ...named.map(cell), ...[min, mean, max].map((values) => number(values[i]!))].join(','));
    }
  }
  return `${rows.join('\n')}\n`;
}

const number = (value: number): string => String(Number(value.toPrecision(DIGITS)));
