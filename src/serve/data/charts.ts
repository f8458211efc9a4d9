import { draw, extentOf, hasChart } from '../../charts/draw.ts';
import { columnsOf, JOB_CHARTS, type JobChart } from '../../charts/job-charts.ts';
import type { Material } from '../../query/material.ts';
import type { ChartFacts } from '../api.ts';

/** The charts that a job has. */
export const chartsThere = (material: Material): JobChart[] => JOB_CHARTS.filter((chart) => isThere(material, chart));

/** Of a short job, or of one with few samples, all values of a column may be missing: then there is nothing to see. */
const SHORT_US = 120e6;

function isThere(material: Material, chart: JobChart): boolean {
  if (!hasChart(material, chart)) return false;
  const [from, to] = extentOf(material);
  return to - from > SHORT_US || draw(material, chart) !== undefined;
}

/** What a chart is, as the page gets it. */
export function factsOf(chart: JobChart): ChartFacts {
  const { sources: _, limit: __, about = [], ...facts } = chart;
  return { ...facts, shows: [...columnsOf(chart), ...about] };
}
