import { z } from 'zod';
import { chartCsv } from '../../charts/chart-csv.ts';
import { columnChart, isDrawable, tablesOf } from '../../charts/column-chart.ts';
import { type Drawing, draw, hasChart } from '../../charts/draw.ts';
import { chartOf, columnsOf, JOB_CHARTS, type JobChart } from '../../charts/job-charts.ts';
import { makeChartData } from '../../charts/make-chart-data.ts';
import { DARK, LIGHT } from '../../charts/option.ts';
import { chartSvg, heatHeight } from '../../charts/svg.ts';
import type { Material } from '../../query/material.ts';
import { type ChartFacts, chartData, chartFacts, chartQuery, tableColumns } from '../api.ts';
import type { OpenJob } from '../open-jobs.ts';
import { Problem } from '../problems.ts';
import type { Server } from '../server.ts';

const params = z.strictObject({ id: z.string() });
const ofChart = params.extend({ chart: z.string().describe('A chart of the list, or any column: gpu.power_watts.') });
type Query = z.infer<typeof chartQuery>;

/** Steps of a file with values, unless others are asked for. */
const CSV_POINTS = 4000;
const SVG_WIDTH = 1000;
const SVG_HEIGHT = 320;

/** What a job did over time. */
export function chartRoutes({ app, open }: Server): void {
  app.get(
    '/api/jobs/:id/charts',
    { schema: { params, response: { 200: z.array(chartFacts) }, summary: 'The charts that a job has' } },
    ({ params: { id } }) => {
      const { material } = open(id);
      return JOB_CHARTS.filter((chart) => hasChart(material, chart)).map(factsOf);
    },
  );
  app.get(
    '/api/jobs/:id/columns',
    { schema: { params, response: { 200: z.array(tableColumns) }, summary: 'The tables and columns of a job' } },
    ({ params: { id } }) =>
      tablesOf(open(id).material).map((table) => ({
        table: table.name,
        help: table.help,
        columns: table.columns.map((column) => ({
          name: column.name,
          unit: column.unit,
          kind: column.kind,
          help: column.help,
          drawn: isDrawable(table, column),
        })),
      })),
  );
  app.get(
    '/api/jobs/:id/charts/:chart/facts',
    { schema: { params: ofChart, response: { 200: chartFacts }, summary: 'What a chart is, also one of any column' } },
    ({ params: { id, chart } }) => factsOf(needChart(open(id).material, chart)),
  );
  app.get(
    '/api/jobs/:id/charts/:chart',
    { schema: { params: ofChart, querystring: chartQuery, summary: 'The values of a chart' } },
    ({ params: { id, chart }, query }, reply) => {
      const job = open(id);
      const drawing = drawAsked(job.material, needChart(job.material, chart), query);
      if (query.download !== undefined) {
        const { text, type } = fileOf(job, drawing, query);
        const name = `${job.material.job.id}-${chart}.${query.download}`.replaceAll(/[^\w.-]/g, '_');
        return reply.type(type).header('content-disposition', `attachment; filename="${name}"`).send(text);
      }
      const { as, focus, focus_key: key } = query;
      const front = focus === undefined ? undefined : { node: focus, ...(key === undefined ? {} : { key }) };
      return reply.type('application/json').send(JSON.stringify(chartData.parse(makeChartData(drawing, as, front))));
    },
  );
}

function factsOf(chart: JobChart): ChartFacts {
  const { sources: _, about = [], ...facts } = chart;
  return { ...facts, shows: [...columnsOf(chart), ...about] };
}

function needChart(material: Material, name: string): JobChart {
  const chart = chartOf(name) ?? (name.includes('.') ? columnChart(material, name) : undefined);
  if (chart === undefined) throw new Problem(404, `there is no chart "${name}"`);
  return chart;
}

function drawAsked(material: Material, chart: JobChart, { from, to, points, node, download }: Query): Drawing {
  if (from !== undefined && to !== undefined && from >= to) throw new Problem(400, 'the time asked for is empty');
  const drawing = draw(material, chart, {
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
    ...(node === undefined ? {} : { node }),
    ...(points === undefined ? (download === 'csv' ? { points: CSV_POINTS } : {}) : { points }),
  });
  if (drawing === undefined) throw new Problem(404, `nothing was recorded for "${chart.title}" in this time`);
  return drawing;
}

function fileOf(
  { material }: OpenJob,
  drawing: Drawing,
  { as, download, theme }: Query,
): Record<'text' | 'type', string> {
  if (download === 'csv') return { text: chartCsv(drawing), type: 'text/csv; charset=utf-8' };
  const data = makeChartData(drawing, as);
  const look = { theme: theme === 'dark' ? DARK : LIGHT, start: material.job.start };
  const height = data.as === 'heat' ? heatHeight(data.count) + 30 : SVG_HEIGHT;
  return { text: chartSvg(data, look, { width: SVG_WIDTH, height }), type: 'image/svg+xml' };
}
