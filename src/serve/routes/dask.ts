import { z } from 'zod';
import { daskStream } from '../../query/dask/stream.ts';
import { wholeOf } from '../../query/material.ts';
import { type DaskStreamData, daskStreamData } from '../api.ts';
import type { Server } from '../server.ts';

/** More rectangles than pixels show nothing more. */
const MOST_TASKS = 4000;

/** The task stream of a Dask cluster. */
export function daskRoutes({ app, open }: Server): void {
  app.get(
    '/api/jobs/:id/dask',
    {
      schema: {
        params: z.strictObject({ id: z.string() }),
        querystring: z.strictObject({ from: z.coerce.number().optional(), to: z.coerce.number().optional() }),
        response: { 200: daskStreamData },
        summary: 'Tasks and graphs of the Dask cluster of a job',
      },
    },
    async ({ params: { id }, query: { from, to }, viewer }): Promise<DaskStreamData> => {
      const { material } = await open(viewer, id);
      const run = wholeOf(material).dask?.();
      if (run === undefined) return { stream: null };
      return { stream: daskStream(run, from ?? Number.NEGATIVE_INFINITY, to ?? Number.POSITIVE_INFINITY, MOST_TASKS) };
    },
  );
}
