import { cell } from '../base/csv.ts';
import type { ChartData } from './chart-data.ts';
import { type ChartLook, seriesName } from './option.ts';

/** Long enough for every value that was measured. */
const DIGITS = 9;

/** How a row begins, by what is drawn from left to right. */
const ACROSS = {
  time: { title: 'seconds', text: (micros: number, start: number) => String((micros - start) / 1e6) },
  progress: { title: 'percent_of_time', text: (micros: number) => String(micros / 1e6) },
  date: { title: 'time', text: (micros: number) => new Date(micros / 1000).toISOString() },
} as const;

/** The values behind a chart that the page itself has put together: a row for each step, a column for each series. */
export function dataCsv(
  { from, step, series }: ChartData,
  { across = 'time', start }: Pick<ChartLook, 'across' | 'start'>,
): string {
  const { title, text } = ACROSS[across];
  const rows = [[title, ...series.map((one) => cell(seriesName(one)))].join(',')];
  const steps = Math.max(0, ...series.map(({ mean }) => mean.length));
  for (let i = 0; i < steps; i++) {
    const values = series.map(({ mean }) => {
      const value = mean[i] ?? undefined;
      return value === undefined ? '' : String(Number(value.toPrecision(DIGITS)));
    });
    if (values.some((value) => value !== '')) rows.push([text(from + i * step, start), ...values].join(','));
  }
  return `${rows.join('\n')}\n`;
}
