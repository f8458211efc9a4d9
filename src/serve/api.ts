import { z } from 'zod';
import { CHART_GROUPS } from '../charts/job-charts.ts';

export { type ChartData, chartData } from '../charts/chart-data.ts';

/** What the page and its server say to each other. Times are epoch microseconds; a value that is missing is null. */

const textSchema = z.string();
const value = z.number().nullable();
const values = z.array(value);

export const problem = z
  .strictObject({ type: textSchema, title: textSchema, status: z.number(), detail: textSchema.exactOptional() })
  .describe('What went wrong, as RFC 9457 has it.');

/** Which part of a job's time is asked for, in epoch microseconds. */
export const rangeQuery = z.strictObject({
  from: z.coerce.number().int().nonnegative().optional(),
  to: z.coerce.number().int().nonnegative().optional(),
});

export const chartQuery = rangeQuery.extend({
  points: z.coerce.number().int().min(1).max(4000).optional().describe('Approximate number of steps (default: 300).'),
  node: textSchema.optional().describe('Of this node alone.'),
  as: z
    .enum(['lines', 'band', 'heat'])
    .optional()
    .describe(
      'lines: every series. band: least, mean and greatest of all series. heat: the mean of every series; a single one is sent as lines. Not given: lines for up to 12 series, else band.',
    ),
  empty: z
    .enum(['allowed'])
    .optional()
    .describe('allowed: where nothing was recorded the answer has no series; else it is a problem.'),
  focus: textSchema.optional().describe('The series of this node are there by name, whatever else is.'),
  focus_key: textSchema.optional().describe('Of these, the one with this key.'),
  download: z.enum(['csv', 'svg']).optional().describe('As a file: the values, or the chart.'),
  theme: z.enum(['light', 'dark']).optional().describe('Colours of an SVG file (light).'),
});

export const chartFacts = z.strictObject({
  id: textSchema,
  group: z.enum(CHART_GROUPS),
  title: textSchema,
  unit: textSchema,
  key: textSchema.exactOptional().describe('What tells the series of a node apart.'),
  help: textSchema.describe('What the values are.'),
  shows: z.array(textSchema).describe('Columns and sources whose evidence is shown here.'),
  top: z.number().exactOptional(),
  adds: z.boolean().exactOptional(),
  heat: z.boolean().exactOptional().describe('A heat map is drawn first.'),
});

export const span = z.strictObject({
  kind: z.enum(['step', 'phase', 'operation']),
  name: textSchema,
  node: textSchema.exactOptional(),
  from: z.number(),
  to: z.number(),
});
const figureMarker = z.strictObject({
  name: textSchema,
  node: textSchema,
  time: z.number(),
  value: textSchema.exactOptional(),
});
export const jobSpans = z
  .strictObject({
    spans: z.array(span),
    left_out: z.number().describe('Number of spans that are left out: the shortest ones.'),
    figures: z.array(figureMarker).describe('Figures of merit, at the time they were reported.'),
  })
  .describe('What a job is made of.');
export type JobSpans = z.infer<typeof jobSpans>;

/** The tasks and graphs of a Dask cluster. */
export const daskStreamData = z.strictObject({
  stream: z
    .strictObject({
      lanes: z.array(z.strictObject({ worker: textSchema, name: textSchema, thread: z.number() })),
      prefixes: z.array(z.strictObject({ prefix: textSchema, tasks: z.number(), seconds: z.number() })),
      tasks: z.array(
        z.strictObject({
          ...{ from: z.number(), to: z.number() },
          prefix: z.number().describe('Its place in `prefixes`.'),
          lane: z.number().describe('Its place in `lanes`.'),
          key: textSchema.describe('Empty: several tasks that are drawn together.'),
          ...{ outcome: textSchema, count: z.number() },
        }),
      ),
      together_below: z.number().describe('Tasks shorter than this, in seconds, are drawn together; 0: none.'),
      failed: z.number().describe('Tasks that erred or were lost.'),
      graph_count: z.number().describe('All graphs of that time; `graphs` has the first of them.'),
      graphs: z.array(
        z.strictObject({
          ...{
            time: z.number(),
            name: textSchema,
            job: z.number(),
            dag: z.number(),
            tasks: z.number(),
            done: z.number(),
          },
          failed: z.number().describe('Tasks that erred, and were not tried again.'),
          end: z.number().nullable().describe('When its last task ended; null: not all have ended.'),
        }),
      ),
    })
    .nullable()
    .describe('null: the job has no Dask cluster.'),
});
export type DaskStreamData = z.infer<typeof daskStreamData>;

/** What is to be said of a job. */
export const annotation = z.strictObject({
  annotations: z.record(z.string().min(1).max(200), z.string().max(10_000)).optional(),
  tags: z.record(z.string().min(1).max(200), z.string().max(1000)).optional(),
  remove: z.array(textSchema).optional().describe('Annotations that go.'),
});
export const jobNotes = z.strictObject({
  annotations: z.record(textSchema, textSchema),
  tags: z.record(textSchema, textSchema),
  writable: z.boolean().describe('Whether this server may change them.'),
});
export type JobNotes = z.infer<typeof jobNotes>;

export const tableColumns = z.strictObject({
  table: textSchema,
  help: textSchema,
  columns: z.array(
    z.strictObject({ name: textSchema, unit: textSchema, kind: textSchema, help: textSchema, drawn: z.boolean() }),
  ),
});
export type TableColumns = z.infer<typeof tableColumns>;

export const processColumns = z
  .strictObject({
    length: z.number(),
    names: z.array(textSchema).describe('Texts that `name` and `operation` point into.'),
    name: z.array(z.number()),
    operation: z.array(z.number()),
    node: z.array(z.number()),
    nodes: z.array(textSchema),
    pid: z.array(z.number()),
    parent: z.array(z.number()).describe('Place of the parent in these columns; −1: none.'),
    start: values,
    end: values,
    cpu: values.describe('CPU seconds of its own.'),
    memory: values.describe('Peak of the resident set, bytes.'),
    exit: values,
    rank: z.array(textSchema),
    threads: values,
    left_out: z
      .number()
      .exactOptional()
      .describe('In a file: number of processes that are left out: those that used least.'),
  })
  .describe('Every process of a job, as columns.');
export type ProcessData = z.infer<typeof processColumns>;
export type ChartFacts = z.infer<typeof chartFacts>;

/** A row of the table of jobs. */
export const listedJob = z.strictObject({
  id: textSchema,
  path: textSchema,
  job: textSchema,
  name: textSchema,
  user: textSchema,
  account: textSchema.exactOptional(),
  partition: textSchema.exactOptional(),
  command: textSchema.exactOptional(),
  state: textSchema.describe('How the job ended.'),
  start: z.number().exactOptional(),
  end: z.number().exactOptional(),
  nodes: z.number(),
  hosts: textSchema.exactOptional().describe('Its nodes as Slurm lists them: c[1-8].'),
  program: textSchema.exactOptional(),
  cpus: z.number().exactOptional(),
  gpus: z.number().exactOptional(),
  wall_seconds: z.number().exactOptional(),
  cpu_use: z.number().exactOptional(),
  memory_use: z.number().exactOptional(),
  memory_peak_bytes: z.number().exactOptional(),
  gpu_use: z.number().exactOptional(),
  core_hours: z.number().exactOptional(),
  core_hours_wasted: z.number().exactOptional(),
  gpu_hours: z.number().exactOptional(),
  gpu_hours_wasted: z.number().exactOptional(),
  io_bytes: z.number().exactOptional().describe('Read and written; the job’s own where that is known.'),
  findings: z.array(textSchema),
  worst: textSchema.exactOptional(),
  tags: z.record(textSchema, textSchema),
  trouble: textSchema.exactOptional(),
});
export const jobList = z.strictObject({
  jobs: z.array(listedJob),
  pending: z.number().describe('Recordings that are still being read: their rows come with a later answer.'),
  troubles: z.array(textSchema),
  lacks: textSchema.exactOptional().describe('What this list does not say of its jobs, in words.'),
});
export type JobList = z.infer<typeof jobList>;
export type ListedJob = z.infer<typeof listedJob>;

/** What `tacho compare --format json` prints: the parts of it that every comparison has. */
export const comparison = z.looseObject({
  jobs: z.array(z.looseObject({ id: textSchema, duration: value.optional() })),
  differences: values.describe('How much longer each job took than the first, microseconds.'),
});

/** A link to one job. */
export const shareRequest = z.strictObject({
  days: z.number().positive().max(366).describe('Days until the link ends.'),
});
export const jobShare = z.strictObject({
  id: textSchema.describe('Names the link when it is revoked; it opens nothing.'),
  job: textSchema,
  name: textSchema,
  by: textSchema.describe('Who made it; empty: whoever had the token.'),
  created: z.number(),
  expires: z.number(),
  revoked: z.number().exactOptional(),
  state: z.enum(['good', 'expired', 'revoked']),
});
export const madeShare = jobShare.extend({ url: textSchema.describe('Shown this once: only its owner has it.') });
export type JobShare = z.infer<typeof jobShare>;
export type MadeShare = z.infer<typeof madeShare>;

/** Threads of a process, as columns, in the order of their start. */
export const threadColumns = z.strictObject({
  length: z.number(),
  process: z.array(z.number()).describe('Place of its process in the columns of processes.'),
  tid: z.array(textSchema),
  start: values,
  end: values,
  cpu: values.describe('CPU seconds.'),
  waiting: values.describe('Seconds ready to run, without a CPU.'),
  left_out: z.number().describe('Number of threads that are left out: those that used least.'),
});
export type ThreadData = z.infer<typeof threadColumns>;

/** What else ran on nodes. Of a job that the viewer may not see nothing but its load is there. */
export const nodeJob = z.strictObject({
  nodes: z.array(textSchema),
  from: z.number(),
  to: z.number().exactOptional().describe('Not there: it runs.'),
  cpus: z.number().exactOptional().describe('On each of its nodes.'),
  cpu_use: z.number().exactOptional(),
  gpu_use: z.number().exactOptional(),
  id: textSchema.exactOptional(),
  job: textSchema.exactOptional(),
  name: textSchema.exactOptional(),
  user: textSchema.exactOptional(),
});
export type NodeJob = z.infer<typeof nodeJob>;

/** What a node of a running job does now. */
const nodeNow = z.strictObject({
  node: textSchema,
  last: z.number().exactOptional().describe('The newest sample.'),
  status: textSchema,
  cpu_use: z.number().exactOptional().describe('Of the CPUs of its jobs.'),
  memory_bytes: z.number().exactOptional(),
  gpu_use: z.number().exactOptional(),
});
export const nodeList = z.strictObject({
  nodes: z.array(textSchema),
  jobs: z.array(nodeJob),
  now: z.array(nodeNow),
  time: z.number().describe('When this was asked.'),
});
export type NodeList = z.infer<typeof nodeList>;

export const experimentNames = z.strictObject({
  tag: textSchema.describe('The job tag that names them.'),
  experiments: z.array(z.strictObject({ name: textSchema, jobs: z.number() })),
  metrics: z.array(textSchema).describe('What their components can be compared by.'),
});
export type ExperimentNames = z.infer<typeof experimentNames>;

/** What the stream of a job that runs says with every new sample. */
export const liveNotice = z.strictObject({
  last: z.number().nullable().describe('When the newest sample was taken.'),
  state: textSchema,
  silent: z.array(z.strictObject({ node: textSchema, since: z.number() })).describe('Nodes from which nothing comes.'),
  trouble: textSchema
    .exactOptional()
    .describe('Why nothing is known of the job just now: its folder is gone, its hub does not answer.'),
});
export type LiveNotice = z.infer<typeof liveNotice>;

/** A table as it is defined. */
export const metricTable = z.strictObject({
  table: textSchema,
  help: textSchema,
  scope: z.enum(['job', 'node']).describe('job: only the job’s part of the node.'),
  keys: z.array(z.strictObject({ name: textSchema, help: textSchema })),
  columns: z.array(
    z.strictObject({ name: textSchema, unit: textSchema, kind: textSchema, help: textSchema, prometheus: textSchema }),
  ),
});
export type MetricTable = z.infer<typeof metricTable>;
