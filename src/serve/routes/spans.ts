import { z } from 'zod';
import { jobSpans } from '../api.ts';
import { jobSpansOf } from '../data/spans.ts';
import type { Server } from '../server.ts';

/** Steps, phases and operations of a job. */
export function spanRoutes({ app, open }: Server): void {
  app.get(
    '/api/jobs/:id/spans',
    {
      schema: {
        params: z.strictObject({ id: z.string() }),
        response: { 200: jobSpans },
        summary: 'Steps, phases, operations and figures of merit of a job',
      },
    },
    async ({ params: { id }, viewer }) => jobSpansOf((await open(viewer, id)).material),
  );
}
