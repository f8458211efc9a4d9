import type { ChartData } from '../../charts/chart-data.ts';
import { type Drawing, draw } from '../../charts/draw.ts';
import type { JobChart } from '../../charts/job-charts.ts';
import { makeChartData } from '../../charts/make-chart-data.ts';
import type { Material } from '../../query/material.ts';
import type { FiledChart } from './contents.ts';

/** Steps of lines and bands. */
const POINTS = 1200;
/** A heat map has at most so many values: of more series fewer steps, and of far too many none. */
const MOST_CELLS = 52_000;
const LEAST_STEPS = 50;
/** Colours of a heat map need no more digits, lines on a screen one more. */
const HEAT_DIGITS = 3;
const LINE_DIGITS = 4;

/** The values of a chart for a file; undefined: nothing of it was recorded then. */
export function chartValues(
  material: Material,
  chart: JobChart,
  range: { from?: number; to?: number },
): FiledChart | undefined {
  const fine = draw(material, chart, { ...range, points: POINTS });
  if (fine === undefined) return undefined;
  const lines = rounded(makeChartData(fine), LINE_DIGITS);
  if (lines.as !== 'band') return { lines };
  const points = Math.min(POINTS, Math.floor(MOST_CELLS / fine.series.length));
  if (points < LEAST_STEPS) return { lines };
  const coarse: Drawing | undefined = draw(material, chart, { ...range, points });
  return coarse === undefined ? { lines } : { lines, heat: rounded(makeChartData(coarse, 'heat'), HEAT_DIGITS) };
}

function rounded(data: ChartData, digits: number): ChartData {
  const round = (values: (number | null)[]): (number | null)[] =>
    values.map((value) => (value === null ? null : Number(value.toPrecision(digits))));
  return {
    ...data,
    series: data.series.map((one) => ({
      ...one,
      mean: round(one.mean),
      ...(one.min === undefined ? {} : { min: round(one.min) }),
      ...(one.max === undefined ? {} : { max: round(one.max) }),
    })),
    ...(data.band === undefined
      ? {}
      : {
          band: {
            min: round(data.band.min),
            mean: round(data.band.mean),
            max: round(data.band.max),
            sum: round(data.band.sum),
          },
        }),
  };
}
