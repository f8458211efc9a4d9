import { z } from 'zod';

const text = z.string();
const values = z.array(z.number().nullable());

const series = z.strictObject({
  node: text,
  key: text.exactOptional(),
  name: text.exactOptional().describe('What people call it, where that is not its key.'),
  mean: values,
  min: values.exactOptional(),
  max: values.exactOptional(),
});

/** The values of a chart as they are sent and drawn. Times are epoch microseconds; a value that is missing is null. */
export const chartData = z.strictObject({
  id: text,
  title: text,
  unit: text,
  scope: z.enum(['job', 'node']).describe('Whose values these are: the job’s, or of all that ran on its nodes.'),
  source: text.describe('Table and column, or what was used up.'),
  from: z.number().describe('When the first step begins.'),
  step: z.number(),
  as: z.enum(['lines', 'band', 'heat']),
  count: z.number().describe('How many series there are.'),
  limit: z.number().exactOptional().describe('What each series is held to.'),
  series: z.array(series),
  focus: z.array(series).exactOptional().describe('The series that were asked for by name, in front of the others.'),
  band: z.strictObject({ min: values, mean: values, max: values, sum: values }).exactOptional(),
});
export type ChartData = z.infer<typeof chartData>;
export type ChartSeries = ChartData['series'][number];
