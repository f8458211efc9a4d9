import { z } from 'zod';
import { reportSchema } from '../../judge/report-schema.ts';
import { exactJson } from '../../show/exact-json.ts';
import { jobList } from '../api.ts';
import type { Server } from '../server.ts';

/** The jobs that are open, and each of them. */
export function jobRoutes({ app, open, list }: Server): void {
  app.get(
    '/api/jobs',
    { schema: { response: { 200: jobList }, summary: 'The jobs that are open' } },
    // a string is sent as it is: checking ten thousand rows again would take longer than all the rest
    async ({ viewer }, reply) => reply.type('application/json').send(JSON.stringify(await list(viewer)) as never),
  );
  app.get(
    '/api/jobs/:id',
    {
      schema: {
        params: z.strictObject({ id: z.string() }),
        response: { 200: reportSchema },
        summary: 'The report of a job, as tacho report --format json prints it',
      },
    },
    async ({ params: { id }, viewer }, reply) =>
      reply.type('application/json').send(exactJson((await open(viewer, id)).report()) as never),
  );
}
