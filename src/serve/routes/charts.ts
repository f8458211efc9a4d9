import { z } from 'zod';
import { stated } from '../../base/stated.ts';
import { chartCsv } from '../../charts/chart-csv.ts';
import { chartFile } from '../../charts/chart-file.ts';
import { columnChart, isDrawable, tablesOf } from '../../charts/column-chart.ts';
import { type Drawing, draw, extentOf } from '../../charts/draw.ts';
import { heatHeight } from '../../charts/heat-height.ts';
import { chartOf, type JobChart } from '../../charts/job-charts.ts';
import { makeChartData } from '../../charts/make-chart-data.ts';
import { DARK, LIGHT } from '../../charts/option.ts';
import { chartSvg } from '../../charts/svg.ts';
import type { Material } from '../../query/material.ts';
import { type ChartData, chartData, chartFacts, chartQuery, tableColumns } from '../api.ts';
import type { OpenJob } from '../collections/collection.ts';
import { chartsThere, factsOf } from '../data/charts.ts';
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
    async ({ params: { id }, viewer }) => {
      const { material } = await open(viewer, id);
      return chartsThere(material).map(factsOf);
    },
  );
  app.get(
    '/api/jobs/:id/columns',
    { schema: { params, response: { 200: z.array(tableColumns) }, summary: 'The tables and columns of a job' } },
    async ({ params: { id }, viewer }) =>
      tablesOf((await open(viewer, id)).material).map((table) => ({
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
    async ({ params: { id, chart }, viewer }) => factsOf(needChart((await open(viewer, id)).material, chart)),
  );
  app.get(
    '/api/jobs/:id/charts/:chart',
    {
      schema: {
        params: ofChart,
        querystring: chartQuery,
        response: { 200: chartData },
        summary: 'The values of a chart; with download a file',
      },
    },
    async ({ params: { id, chart }, query, viewer }, reply) => {
      const job = await open(viewer, id);
      const wanted = needChart(job.material, chart);
      const drawing = drawAsked(job.material, wanted, query);
      if (drawing === undefined) {
        if (query.empty !== 'allowed')
          throw new Problem(404, `nothing was recorded for "${wanted.title}" in this time`);
        return reply.type('application/json').send(JSON.stringify(emptyData(job.material, wanted, query)) as never);
      }
      if (query.download !== undefined) {
        const { text, type } = fileOf(job, drawing, query);
        const name = chartFile(job.material.job.id, chart, query.download);
        return reply
          .type(type)
          .header('content-disposition', `attachment; filename="${name}"`)
          .send(text as never);
      }
      const { focus, focus_key: key } = query;
      const front = focus === undefined ? undefined : { node: focus, ...(key === undefined ? {} : { key }) };
      return reply
        .type('application/json')
        .send(JSON.stringify(chartData.parse(makeChartData(drawing, wayOf(drawing, query), front))) as never);
    },
  );
}

function needChart(material: Material, name: string): JobChart {
  const chart = chartOf(name) ?? (name.includes('.') ? columnChart(material, name) : undefined);
  if (chart === undefined) throw new Problem(404, `there is no chart "${name}"`);
  return chart;
}

function drawAsked(
  material: Material,
  chart: JobChart,
  { from, to, points, node, download }: Query,
): Drawing | undefined {
  if (from !== undefined && to !== undefined && from >= to) throw new Problem(400, 'the time asked for is empty');
  return draw(material, chart, {
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
    ...(node === undefined ? {} : { node }),
    ...(points === undefined ? (download === 'csv' ? { points: CSV_POINTS } : {}) : { points }),
  });
}

/** A chart without values. */
function emptyData(material: Material, { id, title, unit }: JobChart, query: Query): ChartData {
  const [from, to] = extentOf(material, {
    ...(query.from === undefined ? {} : { from: query.from }),
    ...(query.to === undefined ? {} : { to: query.to }),
  });
  return { id, title, unit, scope: 'job', source: '', from, step: to - from, as: 'lines', count: 0, series: [] };
}

/** A heat map is there to see who is unlike the others: a single series is a line. */
const wayOf = ({ series }: Drawing, { as }: Query): Query['as'] =>
  as === 'heat' && series.length === 1 ? undefined : as;

function fileOf({ material }: OpenJob, drawing: Drawing, query: Query): Record<'text' | 'type', string> {
  if (query.download === 'csv') return { text: chartCsv(drawing), type: 'text/csv; charset=utf-8' };
  const data = makeChartData(drawing, wayOf(drawing, query));
  const extent = extentOf(material, stated({ from: query.from, to: query.to }));
  const look = { theme: query.theme === 'dark' ? DARK : LIGHT, start: material.job.start, extent };
  const height = data.as === 'heat' ? heatHeight(data.count) + 30 : SVG_HEIGHT;
  return { text: chartSvg(data, look, { width: SVG_WIDTH, height }), type: 'image/svg+xml' };
}
