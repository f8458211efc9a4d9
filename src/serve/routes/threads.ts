import { z } from 'zod';
import { readProcesses } from '../../query/processes/processes.ts';
import { type ThreadData, threadColumns } from '../api.ts';
import { busiestThreads, threadsOfProcess } from '../data/threads.ts';
import { Problem } from '../problems.ts';
import type { Server } from '../server.ts';

/** Of all threads of a job those that used most are told of. */
const MOST = 2000;

/** The threads of a process, or of all. */
export function threadRoutes({ app, open }: Server): void {
  app.get(
    '/api/jobs/:id/threads',
    {
      schema: {
        params: z.strictObject({ id: z.string() }),
        querystring: z.strictObject({
          process: z.coerce
            .number()
            .int()
            .nonnegative()
            .optional()
            .describe('Place in the columns of processes; not given: of all, those that used most CPU time.'),
        }),
        response: { 200: threadColumns },
        summary: 'Threads of a process or of the job, as columns',
      },
    },
    async ({ params: { id }, query: { process }, viewer }): Promise<ThreadData> => {
      const { material, recording } = await open(viewer, id);
      const set = material.processes ?? readProcesses([recording]);
      if (process === undefined) return busiestThreads(recording, set, MOST);
      if (process >= set.length) throw new Problem(404, `there is no process ${process}`);
      return threadsOfProcess(recording, set, process);
    },
  );
}
