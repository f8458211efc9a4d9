import type { Material } from '../query/material.ts';
import { draw, extentOf, hasChart } from './draw.ts';
import { heatHeight } from './heat-height.ts';
import { JOB_CHARTS } from './job-charts.ts';
import { makeChartData } from './make-chart-data.ts';
import { LIGHT } from './option.ts';
import { chartSvg } from './svg.ts';

export interface ChartPicture {
  svg: string;
  width: number;
  height: number;
}

/** Pixels of a chart that is as wide as a sheet of paper. */
const [WIDTH, HEIGHT, MOST_HIGH] = [720, 230, 900];

/** All charts that the page of a job has, in its order, as pictures for paper. */
export function chartPictures(material: Material, range: { from?: number; to?: number } = {}): ChartPicture[] {
  return JOB_CHARTS.flatMap((chart): ChartPicture[] => {
    const drawing = hasChart(material, chart) ? draw(material, chart, range) : undefined;
    if (drawing === undefined) return [];
    const isHeat = chart.heat === true && drawing.series.length > 1;
    const data = makeChartData(drawing, isHeat ? 'heat' : undefined);
    const height = isHeat ? Math.min(MOST_HIGH, heatHeight(drawing.series.length) + 50) : HEIGHT;
    const look = { theme: LIGHT, start: material.job.start, extent: extentOf(material, range) };
    return [{ svg: chartSvg(data, look, { width: WIDTH, height }), width: WIDTH, height }];
  });
}
