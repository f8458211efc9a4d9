import * as zlib from 'node:zlib';
import { z } from 'zod';
import { reportSchema } from '../../judge/report-schema.ts';
import { exactJson } from '../../show/exact-json.ts';
import { type JobList, jobList } from '../api.ts';
import type { Server } from '../server.ts';

interface Answered {
  now: JobList;
  text: string;
  packed?: Buffer;
}

/** The jobs that are open, and each of them. */
export function jobRoutes({ app, open, list }: Server): void {
  let last: Answered | undefined;
  /** Ten thousand rows are made into text, and packed, once: they are not checked again either. */
  const answered = (now: JobList): Answered => {
    const { jobs, pending, troubles } = now;
    const isSame =
      last?.now.jobs === jobs && last.now.pending === pending && last.now.troubles.join() === troubles.join();
    if (last === undefined || !isSame) last = { now, text: JSON.stringify(now) };
    return last;
  };
  app.get(
    '/api/jobs',
    { schema: { response: { 200: jobList }, summary: 'The jobs that are open' } },
    async ({ viewer, headers }, reply) => {
      const jobsAnswer = answered(await list(viewer));
      reply.type('application/json');
      if (!/\bgzip\b/.test(String(headers['accept-encoding'] ?? ''))) return reply.send(jobsAnswer.text as never);
      jobsAnswer.packed ??= zlib.gzipSync(jobsAnswer.text, { level: 1 });
      return reply.header('content-encoding', 'gzip').send(jobsAnswer.packed as never);
    },
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
