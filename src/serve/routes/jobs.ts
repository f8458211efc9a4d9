import { z } from 'zod';
import { exactJson } from '../../show/exact-json.ts';
import { type JobList, jobList } from '../api.ts';
import { JobTable } from '../job-table.ts';
import type { Server } from '../server.ts';

/** The jobs that are open, and each of them. */
export function jobRoutes({ app, open, catalog }: Server): void {
  const table = new JobTable();
  app.addHook('onClose', async () => table.close());
  app.get(
    '/api/jobs',
    { schema: { response: { 200: jobList }, summary: 'The jobs that are open' } },
    // a string is sent as it is: checking ten thousand rows again would take longer than all the rest
    async (_, reply) => reply.type('application/json').send(JSON.stringify(listOf()) as never),
  );
  const listOf = (): JobList => ({ ...table.rows(catalog.entries()), troubles: catalog.troubles });
  app.get(
    '/api/jobs/:id',
    { schema: { params: z.strictObject({ id: z.string() }), summary: 'The report of a job' } },
    async ({ params: { id } }, reply) => reply.type('application/json').send(exactJson(open(id).report())),
  );
}
