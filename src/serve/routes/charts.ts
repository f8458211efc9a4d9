import { z } from 'zod';
import { bandOf, type Drawing, draw, hasChart } from '../../charts/draw.ts';
import { chartOf, JOB_CHARTS } from '../../charts/job-charts.ts';
import { type ChartData, chartData, chartFacts, chartQuery } from '../api.ts';
import { shortValues } from '../numbers.ts';
import { Problem } from '../problems.ts';
import type { Server } from '../server.ts';

/** More series than this are drawn as one band, unless each is asked for. */
const MOST_LINES = 12;

const params = z.strictObject({ id: z.string() });

/** What a job did over time. */
export function chartRoutes({ app, open }: Server): void {
  app.get(
    '/api/jobs/:id/charts',
    { schema: { params, response: { 200: z.array(chartFacts) }, summary: 'The charts that a job has' } },
    ({ params: { id } }) => {
      const { material } = open(id);
      return JOB_CHARTS.filter((chart) => hasChart(material, chart)).map(({ sources: _, ...facts }) => facts);
    },
  );
  app.get(
    '/api/jobs/:id/charts/:chart',
    {
      schema: {
        params: params.extend({ chart: z.string() }),
        querystring: chartQuery,
        response: { 200: chartData },
        summary: 'The values of a chart',
      },
    },
    ({ params: { id, chart: name }, query: { as, from, to, ...options } }) => {
      const chart = chartOf(name);
      if (chart === undefined) throw new Problem(404, `there is no chart "${name}"`);
      if (from !== undefined && to !== undefined && from >= to) throw new Problem(400, 'the time asked for is empty');
      const part = { ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) };
      const drawing = draw(open(id).material, chart, { ...part, ...known(options) });
      if (drawing === undefined) throw new Problem(404, `nothing was recorded for "${chart.title}" in this time`);
      return answer(drawing, as ?? (drawing.series.length > MOST_LINES ? 'band' : 'lines'));
    },
  );
}

const known = <T extends object>(options: T): { [K in keyof T]: NonNullable<T[K]> } =>
  Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as never;

function answer(drawing: Drawing, as: ChartData['as']): ChartData {
  const { chart, source, from, step, series } = drawing;
  const { min, mean, max, sum } = bandOf(drawing);
  return {
    id: chart.id,
    title: chart.title,
    unit: chart.unit,
    scope: source.scope,
    source: 'use' in source ? source.use : `${source.column.table}.${source.column.name}`,
    from,
    step,
    as,
    count: series.length,
    series:
      as === 'band'
        ? []
        : series.map(({ node, key, ...values }) => ({
            node,
            ...(key === undefined ? {} : { key }),
            mean: shortValues(values.mean),
            ...(as === 'heat' || values.min === values.mean
              ? {}
              : { min: shortValues(values.min), max: shortValues(values.max) }),
          })),
    band: { min: shortValues(min), mean: shortValues(mean), max: shortValues(max), sum: shortValues(sum) },
  };
}
