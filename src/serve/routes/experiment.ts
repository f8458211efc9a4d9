import { z } from 'zod';
import { Fault } from '../../base/fault.ts';
import { stated } from '../../base/stated.ts';
import { EXPERIMENT_TAGS, explore } from '../../judge/explore/explore.ts';
import type { Features } from '../../judge/outliers/features.ts';
import type { MeasuredJob } from '../../judge/outliers/measured-job.ts';
import { JOB_STATES, type JobState } from '../../recording/folder/job.ts';
import { type ExperimentNames, experimentNames, type ListedJob } from '../api.ts';
import { Problem } from '../problems.ts';
import type { Server } from '../server.ts';

/** What components are compared by: figures that the table of jobs has, as `tacho explore` calls and counts them. */
const METRICS: Readonly<Record<string, (job: ListedJob) => number | undefined>> = {
  duration: ({ wall_seconds: s }) => (s === undefined ? undefined : s * 1e6),
  cpu_time: ({ core_hours: hours, cpu_use: use }) =>
    hours === undefined || use === undefined ? undefined : hours * use * 3.6e9,
  memory_peak: ({ memory_peak_bytes: bytes }) => bytes,
  io: ({ io_bytes: bytes }) => bytes,
  core_hours: ({ core_hours: hours }) => hours,
};

const tagQuery = {
  experiment_tag: z.string().optional(),
  component_tag: z.string().optional(),
  time_tag: z.string().optional(),
};

/** Experiments: components × time segments × jobs, what is out of line and what is missing. */
export function experimentRoutes({ app, list }: Server): void {
  app.get(
    '/api/experiments',
    {
      schema: {
        querystring: z.strictObject({ experiment_tag: z.string().optional() }),
        response: { 200: experimentNames },
        summary: 'The experiments that jobs are tagged with',
      },
    },
    async ({ query: { experiment_tag: tag = EXPERIMENT_TAGS.experiment }, viewer }): Promise<ExperimentNames> => {
      const { jobs } = await list(viewer);
      const byName = Map.groupBy(
        jobs.filter(({ tags }) => Object.hasOwn(tags, tag)),
        ({ tags }) => tags[tag]!,
      );
      const experiments = [...byName].map(([name, all]) => ({ name, jobs: all.length }));
      return { tag, experiments: experiments.sort((a, b) => b.jobs - a.jobs), metrics: Object.keys(METRICS) };
    },
  );
  app.get(
    '/api/experiment',
    {
      schema: {
        querystring: z.strictObject({
          name: z.string().describe('The experiment, as its jobs are tagged.'),
          metric: z.enum(Object.keys(METRICS) as [string, ...string[]]).optional(),
          ...tagQuery,
        }),
        response: { 200: z.looseObject({}).describe('As tacho explore --format json prints it.') },
        summary: 'An experiment: what `tacho explore --format json` prints, and where its jobs are',
      },
    },
    async ({ query, viewer }, reply) => {
      const { name, metric = 'duration' } = query;
      const { jobs } = await list(viewer);
      const tags = {
        ...EXPERIMENT_TAGS,
        ...stated({ experiment: query.experiment_tag, component: query.component_tag, time: query.time_tag }),
      };
      try {
        const exploration = await explore(name, jobs.map(measuredJob), { metric, tags });
        return reply.type('application/json').send(JSON.stringify(exploration) as never);
      } catch (error) {
        if (error instanceof Fault)
          throw new Problem(404, error.hint === undefined ? error.message : `${error.message}; ${error.hint}`);
        throw error;
      }
    },
  );
}

/** A row of the table as a job to be explored; where it is, is its address on the page. */
function measuredJob(row: ListedJob): MeasuredJob {
  const features: Features = new Map(
    Object.entries(METRICS).flatMap(([name, value]) => (value(row) === undefined ? [] : [[name, value(row)!]])),
  );
  const state = JOB_STATES.find((one) => one === row.state) ?? ('unknown' satisfies JobState);
  const { start = Number.NaN, end = Number.NaN } = row;
  // a tag that is called like something every object has is not there
  const tags: Record<string, string> = Object.assign(Object.create(null), row.tags);
  const nothing = (): Promise<never> => Promise.reject(new Error('the rows of the table are all that is asked'));
  return {
    job: { id: row.job, name: row.name, user: row.user, nodes: [], start, end, state, tags, origin: row.id },
    processes: nothing,
    threads: nothing,
    measured: nothing,
    kept: async () => ({ job: features }),
  };
}
