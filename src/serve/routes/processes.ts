import { z } from 'zod';
import { readProcesses } from '../../query/processes/processes.ts';
import type { ProcessSet } from '../../query/processes/set.ts';
import { processColumns } from '../api.ts';
import { processDataOf } from '../data/processes.ts';
import type { Server } from '../server.ts';

/** Every process of a job. */
export function processRoutes({ app, open }: Server): void {
  app.get(
    '/api/jobs/:id/processes',
    {
      schema: {
        params: z.strictObject({ id: z.string() }),
        response: { 200: processColumns },
        summary: 'Every process of a job, as columns',
      },
    },
    async ({ params: { id }, viewer }, reply) => {
      const { material, recording } = await open(viewer, id);
      const set = material.processes ?? readProcesses([recording]);
      const text = made.get(set) ?? JSON.stringify(processDataOf(set));
      made.set(set, text);
      // a string is sent as it is: checking 35,000 processes again would take longer than all the rest
      return reply.type('application/json').send(text as never);
    },
  );
}

/** Made once for all who look at a job that has ended. */
const made = new WeakMap<ProcessSet, string>();
