import { z } from 'zod';
import { COMPARE_BY, compare } from '../../judge/compare/compare.ts';
import { readColumns } from '../../query/processes/processes.ts';
import { joinColumns } from '../../query/processes/set.ts';
import { linkProcesses } from '../../query/processes/tree.ts';
import { compareJson } from '../../show/judged/compare-text.ts';
import { comparison } from '../api.ts';
import { Problem } from '../problems.ts';
import type { Server } from '../server.ts';

const FEWEST = 2;
const MOST = 6;

/** What differs between jobs, the greatest cause first: what `tacho compare --format json` prints. */
export function compareRoutes({ app, open }: Server): void {
  app.get(
    '/api/compare',
    {
      schema: {
        querystring: z.strictObject({
          jobs: z
            .string()
            .describe('Ids of two to six jobs, separated by commas; the others are held against the first.'),
          by: z.enum(COMPARE_BY).optional(),
        }),
        response: { 200: comparison },
        summary: 'What differs between jobs',
      },
    },
    async ({ query: { jobs: ids, by }, viewer }, reply) => {
      const wanted = [...new Set(ids.split(',').filter(Boolean))];
      if (wanted.length < FEWEST || wanted.length > MOST)
        throw new Problem(400, `two to six jobs can be compared, not ${wanted.length}`);
      const jobs = await Promise.all(wanted.map((id) => open(viewer, id)));
      const columnsOfJobs = jobs.map(({ material, recording }) => material.processes ?? readColumns([recording]));
      const comparison = compare(
        jobs.map(({ report }) => report()),
        linkProcesses(joinColumns(columnsOfJobs)),
        by,
      );
      return reply.type('application/json').send(compareJson(comparison) as never);
    },
  );
}
