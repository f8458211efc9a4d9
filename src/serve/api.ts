import { z } from 'zod';
import { CHART_GROUPS } from '../charts/job-charts.ts';

export { type ChartData, chartData } from '../charts/chart-data.ts';

/** What the page and its server say to each other. Times are epoch microseconds; a value that is missing is null. */

const words = z.string();
const value = z.number().nullable();
const values = z.array(value);

export const problem = z
  .strictObject({ type: words, title: words, status: z.number(), detail: words.exactOptional() })
  .describe('What went wrong, as RFC 9457 has it.');

/** Which part of a job's time is asked for, in epoch microseconds. */
export const rangeQuery = z.strictObject({
  from: z.coerce.number().int().nonnegative().optional(),
  to: z.coerce.number().int().nonnegative().optional(),
});

export const chartQuery = rangeQuery.extend({
  points: z.coerce.number().int().min(1).max(4000).optional().describe('About so many steps (300).'),
  node: words.optional().describe('Of this node alone.'),
  as: z
    .enum(['lines', 'band', 'heat'])
    .optional()
    .describe(
      'lines: every series. band: least, mean and greatest of all series. heat: the mean of every series. Not given: lines for up to 12 series, else band.',
    ),
  focus: words.optional().describe('The series of this node are there by name, whatever else is.'),
  focus_key: words.optional().describe('Of these, the one with this key.'),
  download: z.enum(['csv', 'svg']).optional().describe('As a file: the values, or the chart.'),
  theme: z.enum(['light', 'dark']).optional().describe('Colours of an SVG file (light).'),
});

export const chartFacts = z.strictObject({
  id: words,
  group: z.enum(CHART_GROUPS),
  title: words,
  unit: words,
  key: words.exactOptional().describe('What tells the series of a node apart.'),
  help: words.describe('What the values are.'),
  shows: z.array(words).describe('Columns and sources whose evidence is shown here.'),
  top: z.number().exactOptional(),
  adds: z.boolean().exactOptional(),
});

export const span = z.strictObject({
  kind: z.enum(['step', 'phase', 'operation']),
  name: words,
  node: words.exactOptional(),
  from: z.number(),
  to: z.number(),
});
export const figureMarker = z.strictObject({
  name: words,
  node: words,
  time: z.number(),
  value: words.exactOptional(),
});
export const jobSpans = z
  .strictObject({
    spans: z.array(span),
    left_out: z.number().describe('So many more spans there are: the shortest ones.'),
    figures: z.array(figureMarker).describe('Figures of merit, at the time they were reported.'),
  })
  .describe('What a job is made of.');
export type JobSpans = z.infer<typeof jobSpans>;

/** What is to be said of a job. */
export const annotation = z.strictObject({
  annotations: z.record(z.string().min(1).max(200), z.string().max(10_000)).optional(),
  tags: z.record(z.string().min(1).max(200), z.string().max(1000)).optional(),
  remove: z.array(words).optional().describe('Annotations that go.'),
});
export const jobNotes = z.strictObject({
  annotations: z.record(words, words),
  tags: z.record(words, words),
  writable: z.boolean().describe('Whether this server may change them.'),
});
export type JobNotes = z.infer<typeof jobNotes>;

export const tableColumns = z.strictObject({
  table: words,
  help: words,
  columns: z.array(z.strictObject({ name: words, unit: words, kind: words, help: words, drawn: z.boolean() })),
});
export type TableColumns = z.infer<typeof tableColumns>;

export const processColumns = z
  .strictObject({
    length: z.number(),
    names: z.array(words).describe('Texts that `name` and `operation` point into.'),
    name: z.array(z.number()),
    operation: z.array(z.number()),
    node: z.array(z.number()),
    nodes: z.array(words),
    pid: z.array(z.number()),
    parent: z.array(z.number()).describe('Place of the parent in these columns; −1: none.'),
    start: values,
    end: values,
    cpu: values.describe('CPU seconds of its own.'),
    memory: values.describe('Peak of the resident set, bytes.'),
    exit: values,
    rank: z.array(words),
    threads: values,
  })
  .describe('Every process of a job, as columns.');
export type ProcessData = z.infer<typeof processColumns>;
export type ChartFacts = z.infer<typeof chartFacts>;

/** A row of the table of jobs. */
export const listedJob = z.strictObject({
  id: words,
  path: words,
  job: words,
  name: words,
  user: words,
  account: words.exactOptional(),
  partition: words.exactOptional(),
  command: words.exactOptional(),
  state: words.describe('How the job ended.'),
  start: z.number().exactOptional(),
  end: z.number().exactOptional(),
  nodes: z.number(),
  cpus: z.number().exactOptional(),
  gpus: z.number().exactOptional(),
  wall_seconds: z.number().exactOptional(),
  cpu_use: z.number().exactOptional(),
  memory_use: z.number().exactOptional(),
  memory_peak_bytes: z.number().exactOptional(),
  gpu_use: z.number().exactOptional(),
  core_hours: z.number().exactOptional(),
  core_hours_wasted: z.number().exactOptional(),
  gpu_hours_wasted: z.number().exactOptional(),
  io_bytes: z.number().exactOptional().describe('Read and written; the job’s own where that is known.'),
  findings: z.array(words),
  worst: words.exactOptional(),
  tags: z.record(words, words),
  trouble: words.exactOptional(),
});
export const jobList = z.strictObject({
  jobs: z.array(listedJob),
  pending: z.number().describe('Recordings that are still being read: their rows come with a later answer.'),
  troubles: z.array(words),
});
export type JobList = z.infer<typeof jobList>;
export type ListedJob = z.infer<typeof listedJob>;

/** What the stream of a job that runs says with every new sample. */
export const liveNotice = z.strictObject({
  last: z.number().nullable().describe('When the newest sample was taken.'),
  state: words,
  silent: z.array(z.strictObject({ node: words, since: z.number() })).describe('Nodes from which nothing comes.'),
});
export type LiveNotice = z.infer<typeof liveNotice>;

/** A table as it is defined. */
export const metricTable = z.strictObject({
  table: words,
  help: words,
  scope: z.enum(['job', 'node']).describe('job: only the job’s part of the node.'),
  keys: z.array(z.strictObject({ name: words, help: words })),
  columns: z.array(z.strictObject({ name: words, unit: words, kind: words, help: words, prometheus: words })),
});
export type MetricTable = z.infer<typeof metricTable>;
