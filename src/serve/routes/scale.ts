import { z } from 'zod';
import { Fault } from '../../base/fault.ts';
import { nameStem } from '../../judge/scale/name-stem.ts';
import { type LeftOut, runOf, type ScaleRun, type SizeBy } from '../../judge/scale/run.ts';
import { studyOf } from '../../judge/scale/study.ts';
import { recommendationText, studyJson } from '../../show/scale/study-text.ts';
import type { ListedJob } from '../api.ts';
import { Problem } from '../problems.ts';
import type { Server } from '../server.ts';

/** More runs than this make a study slow to read, and none better. */
const MOST_RUNS = 200;
const USUAL_EFFICIENCY = 0.7;

/** How a program scales: the study of `tacho scale` over runs of one program. */
export function scaleRoutes({ app, list, open }: Server): void {
  app.get(
    '/api/scaling',
    {
      schema: {
        querystring: z.strictObject({
          jobs: z.string().optional().describe('Ids of jobs, separated by commas.'),
          program: z.string().optional().describe('All runs of this program.'),
          name: z.string().optional().describe('Of these, jobs with this name; # stands for any number in it.'),
          by: z
            .string()
            .regex(/^(cores|nodes|gpus|tag:.{1,200})$/)
            .optional()
            .describe('What sizes are counted in.'),
          efficiency: z.coerce.number().min(0.01).max(1).optional(),
        }),
        response: { 200: z.looseObject({}).describe('As tacho scale --format json prints it.') },
        summary: 'How a program scales: what `tacho scale --format json` prints, and the curve of the law',
      },
    },
    async ({ query: { jobs: ids, program, name, by, efficiency = USUAL_EFFICIENCY }, viewer }, reply) => {
      const rows = (await list(viewer)).jobs;
      const wanted = ids === undefined ? undefined : new Set(ids.split(','));
      const chosen = rows
        .filter((job) => {
          if (wanted !== undefined) return wanted.has(job.id);
          return (
            job.program === program && job.end !== undefined && (name === undefined || nameStem(job.name) === name)
          );
        })
        .slice(0, MOST_RUNS);
      if (chosen.length < 2) throw new Problem(404, 'a study needs two runs of one program at least');
      const size = (by as SizeBy | undefined) ?? usualSize(chosen);
      const runs: ScaleRun[] = [];
      const leftOut: LeftOut[] = [];
      for (const { id, program: of } of chosen) {
        const run = runOf((await open(viewer, id)).report(), {
          by: size,
          ...(of === undefined ? {} : { program: of }),
        });
        if ('why' in run) leftOut.push({ ...run, recording: id });
        else runs.push({ ...run, recording: id });
      }
      try {
        const study = studyOf(runs, leftOut, { by: size, efficiency });
        const { recommended } = study;
        const recommendedText =
          recommended === undefined ? {} : { recommended_text: recommendationText(recommended, study) };
        const studyFields = { ...(JSON.parse(studyJson(study)) as object), ...recommendedText };
        return reply.type('application/json').send(JSON.stringify(studyFields) as never);
      } catch (error) {
        if (error instanceof Fault) throw new Problem(422, error.message);
        throw error;
      }
    },
  );
}

/** GPUs where runs differ in these, else cores. */
const usualSize = (jobs: readonly ListedJob[]): SizeBy =>
  new Set(jobs.map(({ gpus = 0 }) => gpus)).size > 1 ? 'gpus' : 'cores';
